// The smallest and largest value of each column of a lake's tables, by which DuckDB leaves out files. If a file has none for a column, as of a
// long text that is not ASCII, NaN, or a row group of NULL, DuckLake's range is NULL, and its next transaction takes the range of its own files for that
// of the table: queries with a filter would lose rows.
import { quoteText } from '../../catalog/layout.ts'
import type { Lake } from './lake.ts'

/** By DuckLake's name of a type. */
const WHOLE: Record<string, readonly [string, string]> = {
  varchar: ['', String.fromCodePoint(0x10ffff).repeat(3)],
  int32: ['-2147483648', '2147483647'],
  int64: ['-9223372036854775808', '9223372036854775807'],
  float64: ['-inf', 'inf'],
  boolean: ['false', 'true'],
  date: ['0001-01-01', '9999-12-31'],
  timestamptz: ['0001-01-01 00:00:00+00', '9999-12-31 23:59:59.999999+00'],
}

/** Widens the range of each column that has values in a file without a range. To be called outside of transactions, before the lake's tables are read: DuckLake keeps what it has read. */
export async function widenRanges({ database, catalogTable }: Pick<Lake, 'database' | 'catalogTable'>): Promise<void> {
  const stats = catalogTable('ducklake_table_column_stats')
  for (const [type, [least, greatest]] of Object.entries(WHOLE)) {
    const [min, max] = [quoteText(least), quoteText(greatest)]
    const narrow = await database.rows<Record<'table' | 'column', string>>(`
      SELECT DISTINCT s.table_id::VARCHAR AS "table", s.column_id::VARCHAR AS "column" FROM ${stats} s
      JOIN ${catalogTable('ducklake_column')} c ON c.table_id = s.table_id AND c.column_id = s.column_id AND c.column_type = '${type}'
      JOIN ${catalogTable('ducklake_file_column_stats')} f ON f.table_id = s.table_id AND f.column_id = s.column_id
      WHERE f.value_count > 0 AND (f.min_value IS NULL OR f.max_value IS NULL)
        AND (s.min_value IS DISTINCT FROM ${min} OR s.max_value IS DISTINCT FROM ${max})`)
    for (const { table, column } of narrow)
      await database.run(
        `UPDATE ${stats} SET min_value = ${min}, max_value = ${max} WHERE table_id = ${table} AND column_id = ${column}`,
      )
  }
}
