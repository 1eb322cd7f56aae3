// Numbers of records: a record's row and its child rows share one `_record`, which no other record has.
//
// The rows of a replaced record are found by this one integer column instead of three text columns, in each of sixteen tables; as
// numbers grow, a row group spans few of them. Writing a record gives it the next number; a patch, which leaves some child
// rows as they are, keeps the number.
import { tablesOf } from '../../catalog/ddl.ts'
import { isNumbered, type Layout, layoutOf } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'

/** The highest number in use, in the open warehouse or in the attached `schema`; 0 for a table without numbers. */
export async function lastNumber(writer: Writer, layout: Layout, schema?: string): Promise<number> {
  if (!isNumbered(layout)) return 0
  const table = schema === undefined ? layout.record.table : `${schema}.${layout.record.table}`
  const [row] = await writer.rows<{ last: string }>(`SELECT coalesce(max(_record), 0)::VARCHAR AS last FROM ${table}`)
  return Number(row!.last)
}

/** SELECT list of a table's rows with numbers after `last`, which is 0 for a table without numbers. */
export const renumbered = (last: number): string => (last === 0 ? '*' : `* REPLACE (_record + ${last} AS _record)`)

/** The layout that table `name` belongs to, if its records are numbered. */
export const numberedLayoutOf = (name: string): Layout | undefined =>
  RECORD_TYPES.map(record => layoutOf(record)).find(
    layout => isNumbered(layout) && tablesOf(layout).some(table => table.name === name),
  )
