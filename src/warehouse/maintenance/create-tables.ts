// Creates the tables of a new warehouse: the numbered files of `sql/meta` for the bookkeeping, then the tables of the catalog. A warehouse of
// the same layout gets the columns, tables and views that it lacks. One of another layout is refused before anything is changed.
import { createHash } from 'node:crypto'
import { migrate as migrateTable, type Table, tablesOf } from '../../catalog/ddl.ts'
import { layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { beginEpoch } from '../changes/epoch.ts'
import type { Writer } from '../connection.ts'
import { marts } from '../marts/declarations.ts'
import { createMarts } from '../marts/mart-tables.ts'
import { sqlFiles } from '../sql-files.ts'

interface MetaFile {
  number: number
  name: string
  sql: string
}

/** The files of `sql/meta`. The number of the last one is the layout. */
export const metaFiles = (): MetaFile[] =>
  sqlFiles('meta').map(({ name, sql }) => ({ number: Number(name.slice(0, 4)), name: `${name}.sql`, sql }))

type ReadRows = <R>(sql: string) => Promise<R[]>

/** The layout of a warehouse; 0 for a new file. */
async function layoutNumberOf(rows: ReadRows): Promise<number> {
  const known = await rows(`SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()
    AND schema_name = 'main' AND table_name = '_migrations'`)
  if (known.length === 0) return 0
  const [row] = await rows<{ newest: number | null }>('SELECT max(number) AS newest FROM _migrations')
  return row?.newest ?? 0
}

/** @returns the layout of the warehouse; 0 for a new file. @throws WAREHOUSE_OLDER, WAREHOUSE_NEWER if it is not that of this version */
export async function expectLayout(rows: ReadRows, file: string): Promise<number> {
  const found = await layoutNumberOf(rows)
  const known = metaFiles().at(-1)!.number
  if (found === 0 || found === known) return found
  const isOlder = found < known
  throw new ConvohouseError(isOlder ? 'WAREHOUSE_OLDER' : 'WAREHOUSE_NEWER', {
    what: `${isOlder ? 'An earlier' : 'A newer'} convohouse wrote the warehouse (layout ${found}; this version has layout ${known}).`,
    hint: `Move ${file} and its .wal away, then run \`convohouse replay\`: it rebuilds the warehouse from landing and spool, without a request. Rows whose pages or events have expired (\`retention\`) are lost by that. Or use the version that wrote it.`,
    facts: { layout: found },
  })
}

async function columnsByTable(writer: Writer): Promise<Map<string, Set<string>>> {
  const rows = await writer.rows<{ table_name: string; names: string[] }>(
    `SELECT table_name, list(column_name) AS names FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal GROUP BY table_name`,
  )
  return new Map(rows.map(row => [row.table_name, new Set(row.names)]))
}

const catalogTables = (): Table[] => RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record)))

/** The hash of everything that an opening creates besides the files of `sql/meta`. */
const definition = (): string =>
  createHash('sha256')
    .update(
      JSON.stringify([catalogTables().flatMap(table => migrateTable(table, new Set())), sqlFiles('views'), marts()]),
    )
    .digest('hex')
    .slice(0, 16)

/** Stores the definition that the warehouse has been brought to: as a comment, so that the next opening need not look for what is missing. */
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
async function completeCatalog(writer: Writer, isNew: boolean): Promise<boolean> {
  // Skipped for a new file: listing all columns takes 40 ms, a good part of opening.
  const existing = isNew ? new Map<string, Set<string>>() : await columnsByTable(writer)
  const statements = catalogTables().flatMap(table => migrateTable(table, existing.get(table.name) ?? new Set()))
  // At once, as below: a hundred separate calls took a third of the time of creating a warehouse.
  if (statements.length > 0) await writer.run(statements.join(';'))
  return statements.length > 0
}

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
 * Creates what the warehouse lacks, in one transaction; new columns begin a new epoch of the change log. Where nothing is missing, nothing is
 * written: listing columns, replacing views and the checkpoint that follows took two fifths of the processor time of opening and closing.
 * @throws WAREHOUSE_OLDER, WAREHOUSE_NEWER
 */
export async function createTables(writer: Writer, file: string): Promise<void> {
  const isNew = (await writer.exclusively(() => expectLayout(writer.rows, file))) === 0
  if (!isNew && (await writer.exclusively(() => isComplete(writer)))) return
  await writer.transaction(async () => {
    if (isNew) {
      await writer.run(MIGRATIONS)
      for (const { number, name, sql } of metaFiles()) {
        await writer.run('INSERT INTO _migrations VALUES ($number, $name, now()::TIMESTAMP)', { number, name })
        await writer.run(sql)
      }
    }
    const changed = await completeCatalog(writer, isNew)
    if (changed && !isNew) await beginEpoch(writer)
    await createViews(writer)
    await createMarts(writer)
    await storeDefinition(writer)
  })
}
