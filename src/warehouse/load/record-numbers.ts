// Numbers of records: a record's row and the rows of its child tables carry the same `_record`, which no other record has.
//
// By it the rows of a replaced record are found: one column of integers, which lie narrow in a row group because they
// grow, instead of three columns of text in each of sixteen tables. Whoever writes a record numbers it anew, behind all
// that are there; a patch, which leaves some of the child rows as they are, keeps its number.
import { tablesOf } from '../../catalog/ddl.ts'
import { isNumbered, type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'

/** Record types that are numbered. */
const numberedLayouts = (): Layout[] => RECORD_TYPES.map(record => layoutOf(record)).filter(isNumbered)

/** The highest number that is taken, in the open warehouse or in the attached `schema`. */
export async function lastNumber(writer: Writer, layout: Layout, schema?: string): Promise<number> {
  if (!isNumbered(layout)) return 0
  const table = schema === undefined ? layout.record.table : `${schema}.${layout.record.table}`
  const [row] = await writer.rows<{ last: string }>(`SELECT coalesce(max(_record), 0)::VARCHAR AS last FROM ${table}`)
  return Number(row!.last)
}

/** SELECT list of a table's rows, numbered behind `last`, which is 0 for a table that has no numbers. */
export const renumbered = (last: number): string => (last === 0 ? '*' : `* REPLACE (_record + ${last} AS _record)`)

export const sameKey = ({ key }: Layout, a: string, b: string): string =>
  key.map(column => `${a}.${column} = ${b}.${column}`).join(' AND ')

/** Gives child rows the numbers of their records, where they have others. */
export async function numberChildren(writer: Writer, layout: Layout): Promise<void> {
  for (const { table } of layout.children)
    await writer.run(`UPDATE ${table} SET _record = r._record FROM ${layout.record.table} r
      WHERE ${sameKey(layout, table, 'r')} AND ${table}._record IS DISTINCT FROM r._record`)
}

/** Numbers the records of a warehouse that was written before there were numbers. */
export async function numberExisting(writer: Writer): Promise<void> {
  for (const layout of numberedLayouts()) {
    await writer.run(`UPDATE ${layout.record.table} SET _record = rowid + 1`)
    await numberChildren(writer, layout)
  }
}

const HERE = 'numbers_here'

/** Notes which numbers records have, before their table is replaced. */
export const saveNumbers = (writer: Writer, { key, record }: Layout): Promise<void> =>
  writer.run(`CREATE OR REPLACE TEMP TABLE ${HERE} AS SELECT ${key.join(', ')}, _record FROM ${record.table}`)

/**
 * SELECT of a table's rows out of the attached `schema`, numbered as they are here: a record keeps the number that was
 * noted, or gets one behind `last`; a child row has that of its record, whose table must have been replaced before.
 */
export function withSavedNumbers(layout: Layout, options: { name: string; schema: string; last: number }): string {
  const { name, schema, last } = options
  const key = layout.key.join(', ')
  return name === layout.record.table
    ? `SELECT r.* REPLACE (coalesce(n._record, r._record + ${last}) AS _record) FROM ${schema}.${name} r LEFT JOIN ${HERE} n USING (${key})`
    : `SELECT r.* REPLACE (n._record AS _record) FROM ${schema}.${name} r JOIN ${layout.record.table} n USING (${key})`
}

/** What `name` is a table of, where its records are numbered. */
export const numberedLayoutOf = (name: string): Layout | undefined =>
  numberedLayouts().find(layout => tablesOf(layout).some(table => table.name === name))
