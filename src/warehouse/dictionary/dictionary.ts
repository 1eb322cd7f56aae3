// What is stored, in words: every table and view with its columns. The catalog describes the tables of records, the comments of
// `sql/meta` the bookkeeping, and the headers of `sql/marts` and `sql/views` the marts and views.
import { type TableColumn, tablesOf } from '../../catalog/ddl.ts'
import { type Column, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { marts } from '../marts/declarations.ts'
import { sqlFiles } from '../sql-files.ts'
import type { DescribedColumn, DescribedTable } from './described.ts'
import { metaTables, viewOf } from './headers.ts'

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

/** Marts have the name under which a query reads them: `marts.NAME`. */
const martTables = (): DescribedTable[] =>
  marts().map(({ name, about, use, example, columns }) => ({
    name: `marts.${name}`,
    kind: 'table',
    about: `${about[0]!.toUpperCase()}${about.slice(1)}. Use: ${use}`,
    example,
    columns: columns.map(columnOf),
  }))

/** All tables and views: records first, then marts, views and bookkeeping. */
export async function describedTables(): Promise<DescribedTable[]> {
  const views = sqlFiles('views').map(viewOf)
  const meta = metaTables(
    sqlFiles('meta')
      .map(({ sql }) => sql)
      .join('\n'),
  )
  return [...recordTables(), ...martTables(), ...views, ...meta]
}

/** Texts for COMMENT ON, in a copy of a table: of the table, and of each column by its name. */
export interface Comments {
  table: string
  columns: Record<string, string>
}

/** The comments of a table or view; null for one that the dictionary does not have. */
export async function commentsOf(name: string): Promise<Comments | null> {
  const described = (await describedTables()).find(table => table.name === name)
  if (!described) return null
  const text = ({ about, pii }: DescribedColumn): string =>
    pii === 'none' ? about : `${about} (personal data: ${pii})`
  return {
    table: described.about,
    columns: Object.fromEntries(described.columns.map(column => [column.name, text(column)])),
  }
}
