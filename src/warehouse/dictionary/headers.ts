// Reads descriptions from our SQL files: the comments of `sql/meta`, and the headers of `sql/views`.
//
//   sql/meta                                      sql/views
//   -- What a row of the table is.                -- NAME: what a row of the view is.
//   CREATE TABLE _name (                          -- Columns:
//     -- What the column is (PII: staff).         --   name  TYPE  PII class  description
//     name VARCHAR NOT NULL,
import type { PiiClass } from '../../catalog/shape.ts'
import type { SqlFile } from '../sql-files.ts'
import type { DescribedColumn, DescribedTable } from './described.ts'

const COMMENT = /^\s*-- ?(.*)$/
const TABLE = /^CREATE TABLE (\w+) \($/
const COLUMN = /^ {2}"?(\w+)"? (\w+(?:\[\])?)(?: NOT NULL)?,?$/
const PII = / \(PII: (\w+)\)/

/** The tables that the files of `sql/meta` create, in their order. */
export function metaTables(sql: string): DescribedTable[] {
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

/** A line of `Columns:`, whose parts are separated by at least two spaces. */
function viewColumn(line: string): DescribedColumn {
  const [name, sqlType, pii, about] = line.trim().split(/\s{2,}/)
  return { name: name!, sqlType: sqlType!, pii: pii as PiiClass, about: about!, path: null }
}

/** The view of a file of `sql/views`. Its description is the header's first paragraph. */
export function viewOf({ name, sql }: SqlFile): DescribedTable {
  const lines = sql.split('\n')
  const header = lines
    .slice(
      0,
      lines.findIndex(line => !line.startsWith('--')),
    )
    .map(line => COMMENT.exec(line)![1]!)
  const at = header.indexOf('Columns:')
  const paragraph = header.slice(0, Math.min(at, header.indexOf('') < 0 ? at : header.indexOf('')))
  return {
    name,
    kind: 'view',
    about: paragraph.join(' ').slice(name.length + 2),
    columns: header.slice(at + 1).map(viewColumn),
  }
}
