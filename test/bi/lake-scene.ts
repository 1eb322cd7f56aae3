// Targets of the type `ducklake` for a test file, and a reader that shares nothing with the publisher.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe } from 'vitest'
import type { LakeTarget } from '../../src/config/targets.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { KEEP, publishTo, SETTINGS } from '../publish/published.ts'
import type { TemporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { EXTENSIONS, extensionFolder } from './extensions.ts'
import { whyLacking } from './lacking.ts'

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
    ...{ name, type: 'ducklake', pii: KEEP, rows: null, data: join(home, name) },
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

/** Attaches the lake as a reader does. `password`: of its PostgreSQL. */
export async function readingLake<T>(
  target: LakeTarget,
  work: (rows: (sql: string) => Promise<unknown[][]>) => Promise<T>,
  { password = '' } = {},
): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    await connection.run(`SET TimeZone = 'UTC'`)
    for (const name of ['ducklake', 'sqlite_scanner', 'postgres_scanner'])
      await connection.run(`LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    const { catalog } = target
    const schema = catalog.type === 'postgres' ? `, METADATA_SCHEMA '${catalog.schema}'` : ''
    const address = addressOf(target) + (password === '' ? '' : ` password=${password}`)
    await connection.run(`ATTACH '${address}' AS lake (READ_ONLY${schema})`)
    await connection.run('USE lake')
    return await work(async sql => (await connection.runAndReadAll(sql)).getRowsJson())
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
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
