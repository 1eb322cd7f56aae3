// Creates the tables of a new warehouse, and migrates one that an earlier version wrote: numbered files of `sql/meta` for the bookkeeping,
// then the tables of the catalog, to which only columns are added. The first file is the oldest layout that can be migrated; an older
// warehouse is rebuilt by `replay`. Both an older and a newer warehouse are refused before anything is changed.
import { createHash } from 'node:crypto'
import { migrate as migrateTable, RECORD_NUMBER, type Table, tablesOf } from '../../catalog/ddl.ts'
import { isNumbered, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { beginEpoch } from '../changes/epoch.ts'
import type { Writer } from '../connection.ts'
import { marts } from '../marts/declarations.ts'
import { createMarts } from '../marts/mart-tables.ts'
import { sqlFiles } from '../sql-files.ts'

interface Migration {
  /** The layout that it leads to. */
  number: number
  name: string
  sql: string
}

/** The migrations of this version, by number. */
export async function bundledMigrations(): Promise<Migration[]> {
  const files = sqlFiles('meta')
  return files.map(({ name, sql }) => ({ number: Number(name.slice(0, 4)), name: `${name}.sql`, sql }))
}

type ReadRows = <R>(sql: string) => Promise<R[]>

/** The layout of a warehouse, which is the number of its last migration; 0 for a new file. */
export async function layoutNumberOf(rows: ReadRows): Promise<number> {
  const known = await rows(`SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()
    AND schema_name = 'main' AND table_name = '_migrations'`)
  if (known.length === 0) return 0
  const [row] = await rows<{ newest: number | null }>('SELECT max(number) AS newest FROM _migrations')
  return row?.newest ?? 0
}

/** The refusal of a warehouse that a newer convohouse has migrated. */
export const newerWarehouse = (found: number, newest: number): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_NEWER', {
    what: `The warehouse has layout ${found}, and this convohouse knows layouts up to ${newest}.`,
    hint: 'Use the convohouse version that wrote it, or a newer one.',
  })

const REPLAY_HINT =
  'Run `convohouse replay`, which rebuilds the warehouse from the landed pages: it sends no request and bills no session.'

/** The refusal of a warehouse that an earlier convohouse wrote. */
export const olderWarehouse = (found: number, newest: number, hint = REPLAY_HINT): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_OLDER', {
    what: `An earlier convohouse wrote the warehouse (layout ${found}; this version has layout ${newest}).`,
    hint,
    facts: { layout: found },
  })

/** Refuses a layout that only `replay` can read. @throws WAREHOUSE_OLDER */
function expectNotOlder(found: number, migrations: readonly Migration[]): void {
  if (found > 0 && found < migrations[0]!.number) throw olderWarehouse(found, migrations.at(-1)!.number)
}

/** Refuses a warehouse that only `replay` can read. @throws WAREHOUSE_OLDER */
export async function expectReadable(rows: ReadRows): Promise<void> {
  expectNotOlder(await layoutNumberOf(rows), await bundledMigrations())
}

async function columnsByTable(writer: Writer): Promise<Map<string, Set<string>>> {
  const rows = await writer.rows<{ table_name: string; names: string[] }>(
    `SELECT table_name, list(column_name) AS names FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal GROUP BY table_name`,
  )
  return new Map(rows.map(row => [row.table_name, new Set(row.names)]))
}

async function applyMigration(writer: Writer, { number, name, sql }: Migration): Promise<void> {
  // The number is inserted first, so that a second process that migrates fails before it changes anything.
  await writer.run('INSERT INTO _migrations VALUES ($number, $name, now()::TIMESTAMP)', { number, name })
  await writer.run(sql)
}

const catalogTables = (): Table[] => RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record)))

/** The hash of everything that an opening creates besides the migrations. */
const definition = (): string =>
  createHash('sha256')
    .update(
      JSON.stringify([catalogTables().flatMap(table => migrateTable(table, new Set())), sqlFiles('views'), marts()]),
    )
    .digest('hex')
    .slice(0, 16)

/** Stores the definition that the warehouse has been brought to: as a comment, so that files of the same layout need no migration. */
const storeDefinition = (writer: Writer): Promise<void> =>
  writer.run(`COMMENT ON TABLE _migrations IS '${definition()}'`)

/**
 * True where the warehouse has what this version creates. Looks for each table and view besides, which another program may have dropped,
 * and counts columns: listing them takes 40 ms.
 */
async function isComplete(writer: Writer): Promise<boolean> {
  const rows = await writer.rows<{ name: string; columns: number | null; comment: string | null }>(
    `SELECT schema_name || '.' || table_name AS name, column_count::INTEGER AS columns, comment FROM duckdb_tables()
     WHERE database_name = current_database()
     UNION ALL SELECT schema_name || '.' || view_name, NULL, NULL FROM duckdb_views() WHERE database_name = current_database()`,
  )
  const found = new Map(rows.map(({ name, ...row }) => [name, row]))
  return (
    found.get('main._migrations')?.comment === definition() &&
    catalogTables().every(({ name, columns }) => found.get(`main.${name}`)?.columns === columns.length) &&
    sqlFiles('views').every(({ name }) => found.has(`main.${name}`)) &&
    marts().every(({ name }) => found.has(`marts.${name}`))
  )
}

/** Creates the catalog's tables, or adds the columns that they lack. @returns whether anything was missing */
async function migrateCatalog(writer: Writer, isNew: boolean): Promise<boolean> {
  // Skipped for a new file: listing all columns takes 40 ms, a good part of opening.
  const existing = isNew ? new Map<string, Set<string>>() : await columnsByTable(writer)
  const statements = catalogTables().flatMap(table => migrateTable(table, existing.get(table.name) ?? new Set()))
  // At once, as below: a hundred separate calls took a third of the time of creating a warehouse.
  if (statements.length > 0) await writer.run(statements.join(';'))
  for (const layout of RECORD_TYPES.map(record => layoutOf(record)).filter(isNumbered))
    if (lacksNumbers(existing.get(layout.record.table))) await numberRecords(writer, layout.record.table)
  return statements.length > 0
}

const lacksNumbers = (columns: ReadonlySet<string> | undefined): boolean =>
  columns !== undefined && !columns.has(RECORD_NUMBER.name)

/** Numbers the rows of a record type that has child tables since this version: a row without a number would never be replaced. */
const numberRecords = (writer: Writer, table: string): Promise<void> =>
  writer.run(`UPDATE ${table} SET ${RECORD_NUMBER.name} = rowid + 1`)

async function createViews(writer: Writer): Promise<void> {
  await writer.run(
    sqlFiles('views')
      .map(({ sql }) => sql)
      .join('\n'),
  )
}

const MIGRATIONS = `CREATE TABLE IF NOT EXISTS _migrations
  (number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)`

/**
 * Migrates a warehouse to the last of `migrations`. Each migration of an existing warehouse has its own transaction, because DuckDB cannot
 * alter a table whose rows the same transaction has updated; after a kill between two of them, the next opening continues.
 * Each begins a new epoch of the change log, and so do new columns. Where nothing is missing, nothing is written: listing columns, replacing
 * views and the checkpoint that follows took two fifths of the processor time of opening and closing.
 * @throws WAREHOUSE_OLDER, WAREHOUSE_NEWER
 */
export async function migrateWarehouse(writer: Writer, migrations?: readonly Migration[]): Promise<void> {
  const all = migrations ?? (await bundledMigrations())
  const found = await writer.exclusively(() => layoutNumberOf(writer.rows))
  expectNotOlder(found, all)
  const newest = all.at(-1)!.number
  if (found > newest) throw newerWarehouse(found, newest)
  const isNew = found === 0
  const missing = all.filter(({ number }) => number > found)
  if (missing.length === 0 && (await writer.exclusively(() => isComplete(writer)))) return
  if (!isNew)
    for (const migration of missing)
      await writer.transaction(async () => {
        await applyMigration(writer, migration)
        await beginEpoch(writer)
      })
  await writer.transaction(async () => {
    if (isNew) {
      await writer.run(MIGRATIONS)
      for (const migration of missing) await applyMigration(writer, migration)
    }
    const changed = await migrateCatalog(writer, isNew)
    if (changed && !isNew) await beginEpoch(writer)
    await createViews(writer)
    await createMarts(writer)
    await storeDefinition(writer)
  })
}
