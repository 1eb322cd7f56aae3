import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { LakeTarget } from '../../src/config/targets/ducklake.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import { HOUR } from '../../src/core/time.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { KEEP, publishTo, SETTINGS } from '../publish/published.ts'
import type { TemporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { extensionFolder } from './extensions.ts'
import type { PostgresScene } from './postgres-scene.ts'

let targets = 0

/** Returns a lake that no other test uses; its catalog is a schema of the same name. */
export function newLake(
  { app, newTarget }: PostgresScene,
  settings: Partial<LakeTarget> = {},
  connection: Partial<LakeTarget['catalog']['connection']> = {},
): LakeTarget {
  const name = `lake${++targets}`
  const { connection: place, passwordFile } = newTarget({}, connection)
  return {
    ...{ name, type: 'ducklake', pii: KEEP, rows: null, data: join(app.home, name), s3: null },
    ...{ catalog: { connection: place, passwordFile, schema: name }, keepVersionsMs: 48 * HOUR, keepFilesMs: HOUR },
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

const addressOf = ({ catalog: { connection } }: LakeTarget): string => {
  const { host, port, database, user } = connection
  return `ducklake:postgres:host=${host} port=${port} dbname=${database} user=${user}`
}

export interface Reading {
  /** The password of the lake's PostgreSQL. */
  password: string
  /** SQL of a separate secret of the reader for S3. */
  secret?: string
  /** Attaches with permission to write. */
  writes?: boolean
}

/** Attaches the lake as a reader does. */
export async function readingLake<T>(
  target: LakeTarget,
  { password, secret, writes = false }: Reading,
  work: (rows: (sql: string) => Promise<unknown[][]>) => Promise<T>,
): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    await connection.run(`SET TimeZone = 'UTC'`)
    for (const name of ['ducklake', 'postgres_scanner', 'httpfs'])
      await connection.run(`LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    if (secret) await connection.run(secret)
    const access = writes ? `READ_WRITE, DATA_PATH '${target.data}/'` : 'READ_ONLY'
    const options = `${access}, METADATA_SCHEMA '${target.catalog.schema}'`
    await connection.run(`ATTACH '${addressOf(target)} password=${password}' AS lake (${options})`)
    await connection.run('USE lake')
    return await work(async sql => (await connection.runAndReadAll(sql)).getRowsJson())
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Returns the files below the folder whose bytes contain the text. Of Parquet files, searches the values: pages are compressed. */
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
