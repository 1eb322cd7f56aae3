// Creates the tables of a new warehouse: those of `sql/meta`, the catalog and the marts. A warehouse of the same layout
// gets missing columns, tables and views. One of another layout is refused before any change.
import { createHash } from 'node:crypto'
import { statementsFor, type Table, tablesOf } from '../../catalog/ddl.ts'
import { layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { beginEpoch } from '../changes/log-changes.ts'
import type { Writer } from '../connection.ts'
import { marts } from '../marts/declarations.ts'
import { createMarts } from '../marts/mart-tables.ts'
import { sqlFiles } from '../sql-files.ts'

/** Incremented by every change that cannot be applied when a warehouse is opened: of `sql/meta`, or of a column's type. */
export const LAYOUT = 1

type ReadRows = <R>(sql: string) => Promise<R[]>

/** Returns the layout of a warehouse; null for a new file; 0 if it has tables but no layout number. */
async function layoutOfFile(rows: ReadRows): Promise<number | null> {
  const [found] = await rows<{ any: boolean; known: boolean | null }>(
    `SELECT count(*) > 0 AS any, bool_or(table_name = '_layout') AS known FROM duckdb_tables()
     WHERE database_name = current_database() AND schema_name = 'main'`,
  )
  if (!found!.any) return null
  if (!found!.known) return 0
  const [row] = await rows<{ number: number }>('SELECT number FROM _layout')
  return row?.number ?? 0
}

/** Checks the layout. @returns true if the file is new @throws WAREHOUSE_LAYOUT if its layout differs from this version's */
export async function expectLayout(rows: ReadRows, file: string): Promise<boolean> {
  const found = await layoutOfFile(rows)
  if (found === null || found === LAYOUT) return found === null
  throw new ConvohouseError('WAREHOUSE_LAYOUT', {
    what: `Another version of convohouse wrote ${file}: it has layout ${found}, this version has layout ${LAYOUT}.`,
    hint: 'Run `convohouse replay`: it moves that file aside, and builds a new warehouse from landing and spool, without a request. Or use the version that wrote it.',
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

/** Returns the hash of everything that opening creates besides the files of `sql/meta`. */
const definition = (): string =>
  createHash('sha256')
    .update(
      JSON.stringify([catalogTables().flatMap(table => statementsFor(table, new Set())), sqlFiles('views'), marts()]),
    )
    .digest('hex')
    .slice(0, 16)

/** True if this version, or one that creates the same, opened the warehouse last. */
async function isComplete(writer: Writer): Promise<boolean> {
  const [stored] = await writer.rows<{ definition: string }>('SELECT definition FROM _layout')
  return stored?.definition === definition()
}

/** Creates the catalog's tables, or adds missing columns. @returns true if anything was missing */
async function completeCatalog(writer: Writer, isNew: boolean): Promise<boolean> {
  // Skipped for a new file: listing all columns takes 40 ms, a good part of opening.
  const existing = isNew ? new Map<string, Set<string>>() : await columnsByTable(writer)
  const statements = catalogTables().flatMap(table => statementsFor(table, existing.get(table.name) ?? new Set()))
  // One call, since a hundred separate calls took a third of the time of creating a warehouse.
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

/**
 * Creates the missing parts in one transaction; new columns begin a new epoch of the change log. If nothing is missing, nothing
 * is written: listing columns, replacing views and the checkpoint took two fifths of the processor time of opening and closing.
 * @throws WAREHOUSE_LAYOUT
 */
export async function createTables(writer: Writer, file: string): Promise<void> {
  const isNew = await writer.exclusively(() => expectLayout(writer.rows, file))
  if (!isNew && (await writer.exclusively(() => isComplete(writer)))) return
  await writer.transaction(async () => {
    if (isNew) for (const { sql } of sqlFiles('meta')) await writer.run(sql)
    const changed = await completeCatalog(writer, isNew)
    if (changed && !isNew) await beginEpoch(writer)
    await createViews(writer)
    await createMarts(writer)
    await writer.run('DELETE FROM _layout')
    await writer.run('INSERT INTO _layout VALUES ($number, $definition)', { number: LAYOUT, definition: definition() })
  })
}
