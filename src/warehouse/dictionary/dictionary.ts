// Describes the warehouse: every table and view with its columns. The catalog describes record tables, the comments of
// `sql/meta` the bookkeeping, and the headers of `sql/marts` and `sql/views` the marts and views.
import { type TableColumn, tablesOf } from '../../catalog/ddl.ts'
import { type Column, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { PiiClass } from '../../catalog/shape.ts'
import { marts } from '../marts/declarations.ts'
import { columnParts, readHeader, type SqlFile, sqlFiles } from '../sql-files.ts'

export interface DescribedColumn {
  name: string
  sqlType: string
  about: string
  pii: PiiClass
  /** Path in the API's record, e.g. `csat.ease10`; null for a column of our own. */
  path: string | null
}

export interface DescribedTable {
  name: string
  kind: 'table' | 'view'
  about: string
  /** Example queries of a mart. */
  example?: string
  columns: readonly DescribedColumn[]
}

const columnOf = (column: TableColumn & Partial<Column>): DescribedColumn => ({
  name: column.name,
  sqlType: column.sqlType,
  about: column.unit ? `${column.about} (${column.unit})` : column.about,
  pii: column.pii,
  path: column.path ?? null,
})

const recordTables = (): DescribedTable[] =>
  RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).map(({ name, about, columns }) => ({
    name,
    kind: 'table',
    about: `${about}.`,
    columns: columns.map(columnOf),
  }))

/** Returns the marts under the name that queries use: `marts.NAME`. */
const martTables = (): DescribedTable[] =>
  marts().map(({ name, about, use, example, columns }) => ({
    name: `marts.${name}`,
    kind: 'table',
    about: `${about[0]!.toUpperCase()}${about.slice(1)}. Use: ${use}`,
    example,
    columns: columns.map(columnOf),
  }))

const COMMENT = /^\s*-- ?(.*)$/
const TABLE = /^CREATE TABLE (\w+) \($/
const COLUMN = /^ {2}"?(\w+)"? (\w+(?:\[\])?)(?: NOT NULL)?,?$/
const PII = / \(PII: (\w+)\)/

/**
 * Returns the tables that the files of `sql/meta` create, in order. A comment before a table or a column describes it:
 *
 *   -- What a row of the table is.
 *   CREATE TABLE _name (
 *     -- What the column is (PII: staff).
 *     name VARCHAR NOT NULL,
 */
function metaTables(sql: string): DescribedTable[] {
  const tables: (DescribedTable & { columns: DescribedColumn[] })[] = []
  let comment: string[] = []
  for (const line of sql.split('\n')) {
    const [, text] = COMMENT.exec(line) ?? []
    if (text !== undefined) {
      comment.push(text)
      continue
    }
    const [, table] = TABLE.exec(line) ?? []
    const [, name, sqlType] = COLUMN.exec(line) ?? []
    const about = comment.join(' ')
    if (table !== undefined) tables.push({ name: table, kind: 'table', about, columns: [] })
    else if (name !== undefined && sqlType !== undefined) {
      const pii = (PII.exec(about)?.[1] ?? 'none') as PiiClass
      tables.at(-1)?.columns.push({ name, sqlType, about: about.replace(PII, '').replace(/\.$/, ''), pii, path: null })
    }
    comment = []
  }
  return tables
}

/** Returns the view declared by a file of `sql/views`, whose header begins with its name. */
function viewOf({ name, sql }: SqlFile): DescribedTable {
  const { about, fields } = readHeader(sql, ['Columns'])
  const columns = fields.get('Columns')!.map((line): DescribedColumn => {
    const [column, sqlType, pii, described] = columnParts(line)
    return { name: column!, sqlType: sqlType!, pii: pii as PiiClass, about: described!, path: null }
  })
  return { name, kind: 'view', about: about.slice(name.length + 2), columns }
}

/** Returns all tables and views: records first, then marts, views and bookkeeping. */
export async function describedTables(): Promise<DescribedTable[]> {
  const views = sqlFiles('views').map(viewOf)
  const meta = metaTables(
    sqlFiles('meta')
      .map(({ sql }) => sql)
      .join('\n'),
  )
  return [...recordTables(), ...martTables(), ...views, ...meta]
}

/** Texts for COMMENT ON in a copy of a table: for the table, and for each column by name. */
export interface Comments {
  table: string
  columns: Record<string, string>
}

/** Returns the comments of a table or view; null if the dictionary lacks it. */
export async function commentsOf(name: string): Promise<Comments | null> {
  const described = (await describedTables()).find(table => table.name === name)
  if (!described) return null
  const text = ({ about, pii }: DescribedColumn): string => (pii === 'none' ? about : `${about} (class ${pii})`)
  return {
    table: described.about,
    columns: Object.fromEntries(described.columns.map(column => [column.name, text(column)])),
  }
}
