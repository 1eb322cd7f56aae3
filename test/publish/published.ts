// Publishes a test's warehouse with the real process of the target, and reads the published data.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import { type PublishOptions, publish } from '../../src/publish/publish.ts'
import type { TemporaryWarehouse } from '../warehouse/temporary-warehouse.ts'

export const ENTRY = new URL('../../dist/src/publish/target-process.js', import.meta.url)

export const SETTINGS = { everyMs: 900_000, memoryLimit: '512MB', threads: 1, extensions: null }

export const KEEP = { identity: 'keep', staff: 'keep', device: 'keep', content: 'keep', label: 'keep' } as const
export const DEFAULT = { identity: 'hash', staff: 'hash', device: 'hash', content: 'drop', label: 'keep' } as const

let targets = 0

/** Returns a target that no other test uses. */
export function newTarget(home: string, settings: Partial<SnapshotTarget> = {}): SnapshotTarget {
  const name = `t${++targets}`
  return { name, type: 'snapshot', path: join(home, `${name}.duckdb`), pii: KEEP, rows: null, ...settings }
}

export const publishTo = (
  { warehouse, home }: TemporaryWarehouse,
  target: TargetConfig,
  options: Partial<PublishOptions> = {},
): Promise<PublicationReport> => publish({ warehouse, home, target, settings: SETTINGS, entry: ENTRY, ...options })

/** Opens a published file and runs SQL about it. */
export async function reading<T>(
  path: string,
  work: (rows: (sql: string) => Promise<unknown[][]>) => Promise<T>,
): Promise<T> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY', threads: '1' })
  const connection = await instance.connect()
  try {
    return await work(async sql => (await connection.runAndReadAll(sql)).getRowsJson())
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

export const rowsIn = (path: string, sql: string): Promise<unknown[][]> => reading(path, rows => rows(sql))

/** Returns the texts of `needles` that occur in any value of any column of any table, as a reader sees it. */
export const valuesIn = (path: string, needle: string): Promise<string[]> =>
  reading(path, async rows => {
    const tables = await rows(
      `SELECT concat_ws('.', nullif(schema_name, 'main'), table_name), list(column_name) FROM duckdb_columns()
       WHERE NOT internal GROUP BY ALL ORDER BY ALL`,
    )
    const found: string[] = []
    for (const [table, columns] of tables as [string, string[]][]) {
      const counts = columns.map(column => `(count(*) FILTER (contains("${column}"::VARCHAR, '${needle}')))::INT`)
      const [row] = await rows(`SELECT ${counts.join(', ')} FROM ${table}`)
      found.push(...columns.filter((_, at) => row![at] !== 0).map(column => `${table}.${column}`))
    }
    return found
  })

/** True if the file's bytes contain the text, in a row or in a block that no row uses. */
export const bytesContain = async (path: string, text: string): Promise<boolean> =>
  (await readFile(path)).includes(text)
