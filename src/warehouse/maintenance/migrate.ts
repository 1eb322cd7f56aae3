// Migrates a warehouse to this version: numbered migrations of the bookkeeping, then the tables of the catalog, to which only columns are
// added. A warehouse of a newer convohouse is refused before anything is changed.
import { migrate as migrateTable, tablesOf } from '../../catalog/ddl.ts'
import { layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import type { Writer } from '../connection.ts'
import { numberExisting } from '../load/record-numbers.ts'
import { sqlFiles } from '../sql-files.ts'

interface Migration {
  number: number
  name: string
  sql: string
}

async function bundledMigrations(): Promise<Migration[]> {
  const files = await sqlFiles('meta')
  return files.map(({ name, sql }) => ({ number: Number(name.slice(0, 4)), name: `${name}.sql`, sql }))
}

/** The newest migration of this convohouse. */
export const newestMigration = async (): Promise<number> => (await bundledMigrations()).at(-1)?.number ?? 0

/** The refusal of a warehouse that a newer convohouse has migrated. */
export const newerWarehouse = (found: number, newest: number): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_NEWER', {
    what: `The warehouse is at migration ${found}, and this convohouse has migrations up to ${newest}.`,
    hint: 'Use the convohouse version that wrote it, or a newer one.',
  })

type ReadRows = <R>(sql: string) => Promise<R[]>

/** The migration that the warehouse is at; 0: none has been applied. */
export async function migrationOf(rows: ReadRows): Promise<number> {
  const [row] = await rows<{ newest: number | null }>('SELECT max(number) AS newest FROM _migrations')
  return row?.newest ?? 0
}

/**
 * Refuses a warehouse that this version has not migrated: reports read columns and views of this version, and only a process that writes
 * the warehouse migrates it. @throws WAREHOUSE_OLDER
 */
export async function expectMigrated(rows: ReadRows): Promise<void> {
  const found = await migrationOf(rows)
  const newest = await newestMigration()
  if (found >= newest) return
  throw new ConvohouseError('WAREHOUSE_OLDER', {
    what: `The warehouse was written by an earlier convohouse and is not migrated yet (migration ${found} of ${newest}).`,
    hint: 'Run a command that writes to the warehouse, such as `convohouse plan`, which costs no session: it migrates the warehouse first.',
  })
}

async function columnsByTable(writer: Writer): Promise<Map<string, Set<string>>> {
  const rows = await writer.rows<{ table_name: string; names: string[] }>(
    `SELECT table_name, list(column_name) AS names FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal GROUP BY table_name`,
  )
  return new Map(rows.map(row => [row.table_name, new Set(row.names)]))
}

async function applied(writer: Writer): Promise<number> {
  await writer.run(
    'CREATE TABLE IF NOT EXISTS _migrations (number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)',
  )
  return migrationOf(writer.rows)
}

/** The migration that introduced record numbers; existing rows are numbered once their columns exist. */
const NUMBERS = 6

/** The migration that the warehouse is at; 0 for a new file. @throws WAREHOUSE_NEWER */
async function migrationBefore(writer: Writer, migrations: readonly Migration[]): Promise<number> {
  const found = await applied(writer)
  const newest = migrations.at(-1)?.number ?? 0
  if (found > newest) throw newerWarehouse(found, newest)
  return found
}

async function applyMigrations(writer: Writer, migrations: readonly Migration[]): Promise<void> {
  for (const { number, name, sql } of migrations) {
    // The number is inserted first, so that a second process that migrates fails before it changes anything.
    await writer.run('INSERT INTO _migrations VALUES ($number, $name, now()::TIMESTAMP)', { number, name })
    await writer.run(sql)
  }
}

/** Columns of the catalog that earlier versions created under another name. */
const RENAMED_COLUMNS = [
  { table: 'conversations', before: '_channel_told', now: '_reported_channel' },
  { table: 'organizations', before: 'told_workspace_id', now: 'reported_workspace_id' },
]

/** Renames columns before the catalog would add them under their new names, so that they keep their values. */
async function renameColumns(writer: Writer, existing: ReadonlyMap<string, Set<string>>): Promise<void> {
  for (const { table, before, now } of RENAMED_COLUMNS) {
    const columns = existing.get(table)
    if (!columns?.has(before) || columns.has(now)) continue
    await writer.run(`ALTER TABLE ${table} RENAME COLUMN ${before} TO ${now}`)
    columns.add(now)
  }
}

async function migrateCatalog(writer: Writer, fresh: boolean): Promise<void> {
  // Skipped for a new file: listing all columns takes 40 ms, a good part of opening.
  const existing = fresh ? new Map<string, Set<string>>() : await columnsByTable(writer)
  await renameColumns(writer, existing)
  const statements = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).flatMap(table =>
    migrateTable(table, existing.get(table.name) ?? new Set()),
  )
  for (const statement of statements) await writer.run(statement)
}

async function createViews(writer: Writer): Promise<void> {
  for (const { sql } of await sqlFiles('views')) await writer.run(sql)
}

/**
 * Migrates in one transaction. For an older warehouse, each later migration has its own, because DuckDB cannot alter a table whose rows the
 * same transaction has updated; after a kill between two of them, the next opening continues.
 * @throws WAREHOUSE_NEWER
 */
export async function migrateWarehouse(writer: Writer): Promise<void> {
  const migrations = await bundledMigrations()
  let later: Migration[] = []
  await writer.transaction(async () => {
    const before = await migrationBefore(writer, migrations)
    const missing = migrations.filter(({ number }) => number > before)
    const fresh = before === 0
    later = missing.filter(({ number }) => !fresh && number > NUMBERS)
    await applyMigrations(
      writer,
      missing.filter(migration => !later.includes(migration)),
    )
    await migrateCatalog(writer, fresh)
    if (!fresh && before < NUMBERS) await numberExisting(writer)
    if (later.length === 0) await createViews(writer)
  })
  for (const migration of later)
    await writer.transaction(async () => {
      await applyMigrations(writer, [migration])
      if (migration === later.at(-1)) await createViews(writer)
    })
}
