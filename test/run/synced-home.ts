// A synced data folder, which is made once per test file and copied for each test, and the rows of its tables.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'
import { openApp } from '../../src/app.ts'
import { tablesOf } from '../../src/catalog/ddl.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import type { Config } from '../../src/config.ts'
import type { Row, Writer } from '../../src/warehouse/connection.ts'

/** Tables whose rows derive from landing and spool. */
export const FROM_SOURCES = [
  ...RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record)).map(({ name }) => name)),
  ...['_requests', '_windows', '_quota', '_issues', '_drift', '_quarantine', '_absences', '_measured_refreshes'],
  ...['conversation_observations', 'conversation_patches', '_loads', '_runs'],
]

async function copied(config: Config): Promise<Config> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  await cp(config.home, home, { recursive: true })
  return { ...config, home }
}

const removed = ({ home }: Config): Promise<void> => rm(home, { recursive: true })

/** Makes a data folder once, with `make`, which must close its app. Each call of the returned function copies it for one test. */
export function madeOnce(make: () => Promise<Config>): () => Promise<Config> {
  let made: Promise<Config> | undefined
  afterAll(async () => {
    if (made) await removed(await made)
  })
  return async () => {
    made ??= make().then(copied)
    const copy = await copied(await made)
    onTestFinished(() => removed(copy))
    return copy
  }
}

export async function withWriter<T>(config: Config, work: (writer: Writer) => Promise<T>): Promise<T> {
  const app = await openApp({ config })
  try {
    return await work(app.warehouse.writer)
  } finally {
    await app.close()
  }
}

/** Returns every row of these tables, without the columns named in `without`. */
export async function rowsOfTables(
  writer: Writer,
  { tables, without }: { tables: readonly string[]; without: readonly string[] },
): Promise<Record<string, Row[]>> {
  // Lists the columns of all tables in one query, because that query takes longer than reading a table.
  const columns = await writer.rows<{ name: string; kept: string[] }>(
    `SELECT table_name AS name, list(column_name ORDER BY column_index) AS kept FROM duckdb_columns()
     WHERE database_name = current_database() AND column_name NOT IN (${without.map(name => `'${name}'`).join(', ')}) GROUP BY ALL`,
  )
  const kept = new Map(columns.map(column => [column.name, column.kept.map(name => `"${name}"`).join(', ')]))
  const found: Record<string, Row[]> = {}
  for (const table of tables) found[table] = await writer.rows(`SELECT ${kept.get(table)!} FROM ${table} ORDER BY ALL`)
  return found
}
