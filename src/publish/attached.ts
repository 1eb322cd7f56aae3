// Writes and sums the tables of a target that DuckDB attaches as a database: deletes rows by key and inserts new ones.
import { quotedTable, quoteName, quoteText } from '../catalog/layout.ts'
import { type PackagedTable, type Sums, sumOf } from './package.ts'
import { hasKeyOf } from './package-rows.ts'
import type { TargetDatabase } from './target-database.ts'
import type { SummedTable } from './target-port.ts'
import { changedByOwner } from './watermark.ts'

/** Name of the attached database that receives a package. */
export const ATTACHED = 'target'

/** Returns the SQL of a table's name in the attached database; marts have a schema. */
export const attachedTable = ({ name }: Pick<PackagedTable, 'name'>): string =>
  `${ATTACHED}.${name.includes('.') ? quotedTable(name) : `main.${quoteName(name)}`}`

type Described = Pick<PackagedTable, 'name' | 'about'> & { columns: readonly PackagedTable['columns'][number][] }

/** Creates a table with its comments in one call. A refill has about 1,800 comments; a call for each would double their time. */
export async function createTable({ run }: Pick<TargetDatabase, 'run'>, table: Described): Promise<void> {
  const columns = table.columns.map(({ name, sqlType }) => `${quoteName(name)} ${sqlType}`)
  const statements = [`CREATE TABLE ${attachedTable(table)} (${columns.join(', ')})`, ...commentsOf(table)]
  await run(statements.join(';\n'))
}

export const commentsOf = (table: Described): string[] => [
  `COMMENT ON TABLE ${attachedTable(table)} IS ${quoteText(table.about)}`,
  ...table.columns.map(
    ({ name, about }) => `COMMENT ON COLUMN ${attachedTable(table)}.${quoteName(name)} IS ${quoteText(about)}`,
  ),
]

/** @throws TARGET_CHANGED if an attached table lacks a column that a delta writes, or the column has another type */
export async function expectColumns(
  { rows }: TargetDatabase,
  { name, columns }: PackagedTable,
  { path, name: target }: { path: string; name: string },
): Promise<void> {
  const [table, schema = 'main'] = name.split('.').toReversed()
  const found = await rows<{
    name: string
    type: string
  }>(`SELECT column_name AS name, data_type AS type FROM duckdb_columns()
    WHERE database_name = '${ATTACHED}' AND schema_name = '${schema}' AND table_name = '${table}'`)
  const types = new Map(found.map(one => [one.name, one.type.replace('TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ')]))
  const wrong = columns.find(column => types.get(column.name) !== column.sqlType)
  if (wrong === undefined) return
  const is = `column ${wrong.name} of ${name} is ${types.get(wrong.name) ?? 'gone'}`
  throw changedByOwner(`${path} was changed: ${is}.`, target)
}

const namesOf = (names: readonly string[]): string => names.map(quoteName).join(', ')

/** SQL of the rows of a package's files. */
export const packagedRows = (paths: readonly string[]): string => `read_parquet([${paths.map(quoteText).join(', ')}])`

const isTime = ({ sqlType }: PackagedTable['columns'][number]): boolean => /^(DATE|TIMESTAMP)/.test(sqlType)

/**
 * Returns SQL conditions that bound the times in the key of row `t` by those of the changed keys. DuckDB skips files
 * and row groups by constants, not by a subquery: it finds observations of the last hour in a tenth of the time.
 */
async function withinTimes({ rows }: TargetDatabase, { key, columns }: PackagedTable, keys: string): Promise<string[]> {
  const times = columns.filter(column => key.includes(column.name) && isTime(column))
  if (times.length === 0) return []
  const ends = times.flatMap(({ name }) => ['min', 'max'].map(end => `${end}(${quoteName(name)})::VARCHAR`))
  const [row] = await rows<{ ends: (string | null)[] }>(`SELECT [${ends.join(', ')}] AS ends FROM ${keys}`)
  return times.map(({ name, sqlType }, index) => {
    const [first, last] = row!.ends.slice(2 * index, 2 * index + 2)
    if (first == null || last == null) return 'false'
    return `t.${quoteName(name)} BETWEEN ${quoteText(first)}::${sqlType} AND ${quoteText(last)}::${sqlType}`
  })
}

/** Deletes the rows of changed keys from the table `into`, or all rows. */
export async function deleteRows(database: TargetDatabase, into: string, table: PackagedTable): Promise<void> {
  if (table.isWhole) await database.run(`DELETE FROM ${into}`)
  if (table.deletes === null) return
  const keys = packagedRows([table.deletes])
  const times = await withinTimes(database, table, keys)
  await database.run(`DELETE FROM ${into} t WHERE ${[hasKeyOf(keys, table.key), ...times].join(' AND ')}`)
}

export async function insertRows(database: TargetDatabase, into: string, table: PackagedTable): Promise<void> {
  if (table.rows.length === 0) return
  const columns = namesOf(table.columns.map(({ name }) => name))
  await database.run(`INSERT INTO ${into} (${columns}) SELECT ${columns} FROM ${packagedRows(table.rows)}`)
}

interface Stored {
  /** Returns the SQL of a table's name in the attached database. */
  rowsFrom: (table: SummedTable) => string
  /** Returns the SQL of a column's value as it was in the package. */
  stored: (column: SummedTable['columns'][number]) => string
}

export async function sumsOf(
  database: TargetDatabase,
  tables: readonly SummedTable[],
  { rowsFrom, stored }: Stored,
): Promise<Sums> {
  const sums: Sums = {}
  for (const table of tables)
    sums[table.name] = await sumOf(database, { values: table.columns.map(stored), from: rowsFrom(table) })
  return sums
}
