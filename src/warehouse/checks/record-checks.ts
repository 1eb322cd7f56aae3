// Checks that derive from the catalog: for every record type, keys and record numbers are unique, and child rows belong to a record.
// No primary key ensures the first, since it would make upserts slow. Duplicate keys and orphans would be duplicated by joins in every
// copy, so they stop the publication of their table.
import { isNumbered, type Layout, layoutOf, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Check } from './declaration.ts'

export const recordChecks = (): Check[] =>
  RECORD_TYPES.map(record => layoutOf(record)).flatMap(layout => [
    unique(layout),
    ...(isNumbered(layout) ? [numbered(layout), childrenHaveRecords(layout)] : []),
  ])

const derived = (
  { record: { table } }: Layout,
  check: Pick<Check, 'name' | 'about' | 'sql' | 'sqlAboveNumber' | 'rowsOf' | 'blocks' | 'key'>,
): Check => ({
  ...check,
  severity: 'error',
  table,
  isOwn: false,
})

const unique = (layout: Layout): Check =>
  derived(layout, {
    name: `${layout.record.table}_unique`,
    about: `No two rows of ${layout.record.table} have the same key.`,
    blocks: true,
    key: layout.key,
    sql: `SELECT ${layout.key.join(', ')}, count(*) AS rows FROM ${layout.record.table} GROUP BY ALL HAVING count(*) > 1`,
    rowsOf: [layout.record.table],
  })

/** Two records of different keys may share a number, so that a look at one of them does not suffice. */
const numbered = (layout: Layout): Check =>
  derived(layout, {
    name: `numbers_of_${layout.record.table}`,
    about: `Each row of ${layout.record.table} has a record number of its own.`,
    blocks: false,
    key: [],
    sql: `SELECT _record, count(*) AS rows FROM ${layout.record.table} GROUP BY _record HAVING _record IS NULL OR count(*) > 1`,
    rowsOf: [layout.record.table],
  })

/**
 * Over changed records: rows that were written since have numbers above those of all other records, so that DuckDB reads the ends of the tables
 * alone. By key, it reads three text columns of eighteen tables. Rows that a load has left behind are found once a day.
 */
const childrenHaveRecords = (layout: Layout): Check => {
  const { record, key, children } = layout
  const keys = key.join(', ')
  const orphans = (rowsOf: (table: string) => string): string =>
    children
      .map(
        ({ table }) =>
          `SELECT ${quoteText(table)} AS child, ${keys}, _record FROM ${rowsOf(table)} ANTI JOIN ${rowsOf(record.table)} USING (${keys}, _record)`,
      )
      .join('\nUNION ALL\n')
  return derived(layout, {
    name: `children_of_${record.table}`,
    about: `Each child row of ${record.table} belongs to a row of ${record.table}.`,
    blocks: true,
    key,
    sql: orphans(table => table),
    rowsOf: children.map(({ table }) => table),
    sqlAboveNumber: last => orphans(table => `(SELECT ${keys}, _record FROM ${table} WHERE _record > ${last})`),
  })
}
