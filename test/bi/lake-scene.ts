// Targets of the type `ducklake` for a test file, and a reader that shares nothing with the publisher.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect } from 'vitest'
import type { LakeTarget } from '../../src/config/targets.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { KEEP, publishTo, SETTINGS } from '../publish/published.ts'
import { until } from '../until.ts'
import type { TemporaryWarehouse, Workspace } from '../warehouse/temporary-warehouse.ts'
import { EXTENSIONS, extensionFolder } from './extensions.ts'
import { needed, whyLacking } from './lacking.ts'
import { PYTHON } from './python.ts'

/** Tests that need DuckDB's extensions. */
export const describeWithLake = describe.skipIf(whyLacking(EXTENSIONS) !== null)

const HOUR_MS = 3_600_000

let targets = 0

export type FileLake = LakeTarget & { catalog: { path: string } }

/** A lake that no other test uses, with its catalog in a file. */
export function newLake(
  home: string,
  settings: Partial<FileLake> = {},
  type: 'sqlite' | 'duckdb' = 'sqlite',
): FileLake {
  const name = `lake${++targets}`
  return {
    ...{ name, type: 'ducklake', pii: KEEP, rows: null, data: join(home, name), s3: null },
    ...{ catalog: { type, path: join(home, `${name}.${type}`) }, keepVersionsMs: 48 * HOUR_MS, keepFilesMs: HOUR_MS },
    ...settings,
  }
}

/** Publishes with DuckDB's extensions. */
export const publishLake = (
  app: TemporaryWarehouse,
  target: LakeTarget,
  options: Partial<PublishOptions> = {},
): Promise<PublicationReport> =>
  publishTo(app, target, { settings: { ...SETTINGS, extensions: extensionFolder() }, ...options })

const addressOf = ({ catalog }: LakeTarget): string => {
  if (catalog.type !== 'postgres') return `ducklake:${catalog.type === 'sqlite' ? 'sqlite:' : ''}${catalog.path}`
  const { host, port, database, user } = catalog.connection
  return `ducklake:postgres:host=${host} port=${port} dbname=${database} user=${user}`
}

export interface Reading {
  /** Of its PostgreSQL. */
  password?: string
  /** SQL of the reader's own secret for S3. */
  secret?: string
  /** As the lake's owner, who may write. */
  writes?: boolean
}

/** Attaches the lake as a reader does. */
export async function readingLake<T>(
  target: LakeTarget,
  work: (rows: (sql: string) => Promise<unknown[][]>) => Promise<T>,
  { password = '', secret, writes = false }: Reading = {},
): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    await connection.run(`SET TimeZone = 'UTC'`)
    for (const name of ['ducklake', 'sqlite_scanner', 'postgres_scanner', 'httpfs'])
      await connection.run(`LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    if (secret) await connection.run(secret)
    const { catalog } = target
    const schema = catalog.type === 'postgres' ? `, METADATA_SCHEMA '${catalog.schema}'` : ''
    const address = addressOf(target) + (password === '' ? '' : ` password=${password}`)
    await connection.run(`ATTACH '${address}' AS lake (READ_${writes ? 'WRITE' : 'ONLY'}${schema})`)
    await connection.run('USE lake')
    return await work(async sql => (await connection.runAndReadAll(sql)).getRowsJson())
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

interface Read {
  states: [publication: string, names: string][]
  reads: number
  types: string[]
}

/** Reads in a process of its own, which shares nothing with the publisher but the catalog and the data, until `stop` exists. */
export function startReader(
  target: LakeTarget,
  { id }: Workspace,
  { stop, password = '', secret = '' }: Reading & { stop: string },
) {
  const { catalog } = target
  const python = join(needed(PYTHON.lake), 'bin', 'python')
  const script = join(import.meta.dirname, 'read-lake.py')
  const schema = catalog.type === 'postgres' ? `, METADATA_SCHEMA '${catalog.schema}'` : ''
  const words = [script, extensionFolder(), addressOf(target), schema, id, stop]
  const env = { PGPASSWORD: password, LAKE_SECRET: secret }
  const child = spawn(python, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', text => {
      output += text
    })
  return {
    ready: () => until(async () => output.includes('ready') || child.exitCode !== null),
    async result(): Promise<Read> {
      if (child.exitCode === null) await once(child, 'close')
      const last = output.trim().split('\n').at(-1)!
      if (!last.startsWith('{')) throw new Error(output)
      return JSON.parse(last)
    },
  }
}

/** Each version has its own names, and the reader has seen no other, and the last. */
export function expectVersions({ states, reads, types }: Read, expected: readonly string[]): void {
  const names = states.map(([, one]) => one)
  expect(reads).toBeGreaterThan(3)
  expect(new Set(names).size).toBe(names.length)
  expect(new Set(states.map(([publication]) => publication)).size).toBe(names.length)
  expect(expected).toEqual(expect.arrayContaining(names))
  expect(names).toContain(expected.at(-1))
  expect(types.slice(1)).toEqual(['TIMESTAMP WITH TIME ZONE', 'VARCHAR'])
  expect(types[0]).toMatch(/\+00$/)
}

/** Files below the folder whose bytes contain the text, or, of Parquet files, whose values: pages are compressed. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  const hasValue = async (path: string) => {
    const rows = `SELECT 1 FROM read_parquet('${path}') t WHERE contains(t::VARCHAR, '${text}') LIMIT 1`
    return (await connection.runAndReadAll(rows)).getRowsJson().length > 0
  }
  const found: string[] = []
  try {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      if ((await readFile(path)).includes(text) || (path.endsWith('.parquet') && (await hasValue(path))))
        found.push(path)
    }
    return found
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Names of the catalog's file and of those beside it. */
export const catalogFiles = async ({ catalog }: FileLake): Promise<string[]> =>
  (await readdir(dirname(catalog.path))).filter(name => name.startsWith(basename(catalog.path))).sort()

/** Names of the files of the lake, of data or of the catalog, that have the text. */
export async function filesOfLakeWith(target: FileLake, text: string): Promise<string[]> {
  const found = await filesWith(target.data, text)
  for (const name of await catalogFiles(target))
    if ((await readFile(join(dirname(target.catalog.path), name))).includes(text)) found.push(name)
  return found
}
