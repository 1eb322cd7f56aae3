// Opens a warehouse of an older layout for `replay`, without migrating it. The file is attached READ_ONLY as `older`; `warehouse` is a database
// in memory with the tables of this version, each replaced by a view over the older table (`layout-map.ts`). So whatever reads a warehouse
// also reads an older one, queries included.
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { isCode } from '../../core/errors.ts'
import type { Writer } from '../connection.ts'
import { openingError } from '../fault.ts'
import { openAs, openWarehouse, type Warehouse, type WarehouseOptions, warehouseFile } from '../open.ts'
import { OLDEST_READABLE, olderRows, type Tables } from './layout-map.ts'
import { bundledMigrations, migrateWarehouse, olderWarehouse } from './migrate.ts'

/** Tables that are written while the warehouse is open: copies in memory. */
const COPIED = new Set(['_runs'])

/** The schema that the older file is attached as. */
export const OLDER = 'older'

const TOO_OLD_HINT =
  'Move the file and its .wal away, then run `convohouse replay`: it rebuilds the warehouse from landing and spool alone.'

/** A file whose lock a replay holds: DuckDB lets several processes read one file, and two replays would write one new warehouse. */
const lockFile = (file: string): string => `${file}.replay-lock`

/**
 * Writes a log that a killed process left behind into its file, whose layout stays. A replay removes the log before it replaces the file:
 * a kill between the two must lose nothing.
 */
async function mergeLog(connection: DuckDBConnection, file: string): Promise<void> {
  if (!existsSync(`${file}.wal`)) return
  await connection.run(`ATTACH ${quoteText(file)} AS ${OLDER}`)
  await connection.run(`CHECKPOINT ${OLDER}`)
  await connection.run(`DETACH ${OLDER}`)
}

async function attachOlder(instance: DuckDBInstance, file: string): Promise<void> {
  const connection = await instance.connect()
  try {
    await connection.run(`ATTACH IF NOT EXISTS ${quoteText(lockFile(file))} AS replay_lock`)
    await mergeLog(connection, file)
    await connection.run(`ATTACH IF NOT EXISTS ${quoteText(file)} AS ${OLDER} (READ_ONLY)`)
    await connection.run(`ATTACH IF NOT EXISTS ':memory:' AS warehouse`)
  } catch (cause) {
    throw openingError(file, cause)
  } finally {
    connection.closeSync()
  }
}

/** The base tables of an attached database. */
async function tablesIn(writer: Writer, database: string): Promise<Tables> {
  const rows = await writer.rows<{ table: string; column: string; type: string }>(`
    SELECT c.table_name AS "table", c.column_name AS "column", c.data_type AS type
    FROM duckdb_columns() AS c JOIN duckdb_tables() USING (database_oid, table_oid)
    WHERE c.database_name = ${quoteText(database)} AND c.schema_name = 'main' ORDER BY c.table_name, c.column_index`)
  const tables = new Map<string, Map<string, string>>()
  for (const { table, column, type } of rows)
    tables.set(table, (tables.get(table) ?? new Map<string, string>()).set(column, type))
  return tables
}

/** The layout of the older file. @throws WAREHOUSE_OLDER if it is too old to be read */
async function expectMapped(writer: Writer): Promise<number> {
  const [row] = await writer.rows<{ n: number }>(`SELECT max(number) AS n FROM ${OLDER}._migrations`)
  const found = row!.n
  if (found < OLDEST_READABLE) throw olderWarehouse(found, (await bundledMigrations()).at(-1)!.number, TOO_OLD_HINT)
  return found
}

/** Replaces every table of `warehouse` that has rows in the older file by a view over them. */
async function mapTables(writer: Writer): Promise<void> {
  await migrateWarehouse(writer)
  const [older, newer] = [await tablesIn(writer, OLDER), await tablesIn(writer, 'warehouse')]
  for (const table of newer.keys()) {
    const rows = olderRows({ table, schema: OLDER }, { older, newer })
    if (rows === undefined || table === '_migrations') continue
    const name = quoteName(table)
    if (COPIED.has(table)) await writer.run(`INSERT INTO ${name} BY NAME SELECT * EXCLUDE (rowid) FROM (${rows})`)
    else await writer.run(`DROP TABLE ${name}; CREATE VIEW ${name} AS ${rows}`)
  }
}

async function openOlder(options: WarehouseOptions): Promise<Warehouse> {
  let olderLayout = 0
  const lock = lockFile(warehouseFile(options.home, options.name))
  const warehouse = await openAs(options, {
    attach: attachOlder,
    prepare: async writer => {
      try {
        olderLayout = await expectMapped(writer)
        await mapTables(writer)
      } catch (error) {
        await rm(lock, { force: true })
        throw error
      }
    },
  })
  const close = async () => {
    // Before the lock is released: later it could be another replay's file.
    await rm(lock, { force: true })
    await warehouse.close()
  }
  return { ...warehouse, olderLayout, close }
}

/**
 * Opens the warehouse that a replay replaces: for writing, or, if it has an older layout, for reading.
 * @throws WAREHOUSE_LOCKED, WAREHOUSE_NEWER, WAREHOUSE_OLDER, HOME_UNUSABLE
 */
export async function openReplaced(options: WarehouseOptions): Promise<Warehouse> {
  try {
    return await openWarehouse(options)
  } catch (error) {
    if (!isCode(error, 'WAREHOUSE_OLDER')) throw error
    return openOlder(options)
  }
}
