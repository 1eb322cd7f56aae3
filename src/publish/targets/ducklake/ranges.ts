// The smallest and largest value of each column of a lake's tables, by which DuckDB leaves out files. DuckLake writes no range for a column
// of a file with a long text that is not ASCII, with NaN, or with a row group of NULL. Its next transaction then takes the range of its own
// files for that of the whole table, and queries with a filter lose rows. `test/bi/ducklake.bi.ts` says when DuckLake no longer does so.
import { quoteText } from '../../../catalog/layout.ts'
import type { Lake } from './lake.ts'

/** The whole range of a type, by DuckLake's name of the type. */
const WHOLE: Record<string, readonly [string, string]> = {
  varchar: ['', String.fromCodePoint(0x10ffff).repeat(3)],
  int32: ['-2147483648', '2147483647'],
  int64: ['-9223372036854775808', '9223372036854775807'],
  float64: ['-inf', 'inf'],
  boolean: ['false', 'true'],
  date: ['-infinity', 'infinity'],
  timestamptz: ['-infinity', 'infinity'],
}

interface Narrow {
  table: string
  column: string
  type: string
  min: string | null
  max: string | null
}

/**
 * Widens the range of each column that has values in a file without a range. Runs before the lake's tables are read, and outside of
 * transactions: DuckLake caches what it has read.
 */
export async function widenRanges({ database, catalogTable }: Lake): Promise<void> {
  const ranges = catalogTable('ducklake_table_column_stats')
  const found = await database.rows<Narrow>(`
    SELECT DISTINCT s.table_id::VARCHAR AS "table", s.column_id::VARCHAR AS "column", c.column_type AS type,
      s.min_value AS min, s.max_value AS max
    FROM ${ranges} s
    JOIN ${catalogTable('ducklake_column')} c ON c.table_id = s.table_id AND c.column_id = s.column_id
    JOIN ${catalogTable('ducklake_file_column_stats')} f ON f.table_id = s.table_id AND f.column_id = s.column_id
    WHERE f.value_count > 0 AND (f.min_value IS NULL OR f.max_value IS NULL)`)
  const narrow = found.flatMap(({ table, column, type, min, max }) => {
    const whole = WHOLE[type]
    return !whole || (min === whole[0] && max === whole[1]) ? [] : [{ table, column, whole }]
  })
  if (narrow.length === 0) return
  // DuckLake answers `min` and `max` from the ranges while as many rows have been inserted as there are: one more counts as inserted.
  await database.run(`UPDATE ${catalogTable('ducklake_table_stats')} SET record_count = record_count + 1
    WHERE table_id IN (${narrow.map(({ table }) => table).join(', ')})`)
  for (const { table, column, whole } of narrow) {
    const [least, greatest] = whole.map(quoteText)
    await database.run(`UPDATE ${ranges} SET min_value = ${least}, max_value = ${greatest}
      WHERE table_id = ${table} AND column_id = ${column}`)
  }
}
