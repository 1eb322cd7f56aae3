// The smallest and largest value of each column of a lake's tables, by which DuckDB leaves out files. If a file has none for a column, as of a
// long text that is not ASCII, NaN, or a row group of NULL, DuckLake's range is NULL, and its next transaction takes the range of its own files for that
// of the table: queries with a filter would lose rows.
import { quoteText } from '../../catalog/layout.ts'
import { exclusively, type Lake } from './lake.ts'

/** By DuckLake's name of a type. */
const WHOLE: Record<string, readonly [string, string]> = {
  varchar: ['', String.fromCodePoint(0x10ffff).repeat(3)],
  int32: ['-2147483648', '2147483647'],
  int64: ['-9223372036854775808', '9223372036854775807'],
  float64: ['-inf', 'inf'],
  boolean: ['false', 'true'],
  date: ['-infinity', 'infinity'],
  timestamptz: ['-infinity', 'infinity'],
}

/** Gives the columns that `where` selects the whole range of a type. DuckLake must not answer from it (`makeInexact`). */
async function setRange(
  { database, catalogTable }: Lake,
  range: readonly [string, string],
  where: string,
): Promise<void> {
  const [least, greatest] = range.map(quoteText)
  await database.run(
    `UPDATE ${catalogTable('ducklake_table_column_stats')} SET min_value = ${least}, max_value = ${greatest} WHERE ${where}`,
  )
}

/**
 * Keeps DuckLake from answering `min` and `max` of tables from their ranges, which it does while as many rows have been inserted as there are: one more counts
 * as inserted.
 */
const makeInexact = ({ database, catalogTable }: Lake, tables: Iterable<string>): Promise<void> =>
  database.run(
    `UPDATE ${catalogTable('ducklake_table_stats')} SET record_count = record_count + 1 WHERE table_id IN (${[...tables].join(', ')})`,
  )

interface Narrow {
  table: string
  column: string
  type: string
  min: string | null
  max: string | null
}

/**
 * Widens the range of each column that has values in a file without a range. To be called before the lake's tables are read, and outside of
 * transactions: DuckLake keeps what it has read.
 */
export async function widenRanges(lake: Lake): Promise<void> {
  const { database, catalogTable } = lake
  const found = await database.rows<Narrow>(`
    SELECT DISTINCT s.table_id::VARCHAR AS "table", s.column_id::VARCHAR AS "column", c.column_type AS type, s.min_value AS min, s.max_value AS max
    FROM ${catalogTable('ducklake_table_column_stats')} s
    JOIN ${catalogTable('ducklake_column')} c ON c.table_id = s.table_id AND c.column_id = s.column_id
    JOIN ${catalogTable('ducklake_file_column_stats')} f ON f.table_id = s.table_id AND f.column_id = s.column_id
    WHERE f.value_count > 0 AND (f.min_value IS NULL OR f.max_value IS NULL)`)
  const narrow = found.flatMap(({ table, column, type, min, max }) => {
    const whole = WHOLE[type]
    return !whole || (min === whole[0] && max === whole[1]) ? [] : [{ table, column, whole }]
  })
  if (narrow.length === 0) return
  await makeInexact(lake, new Set(narrow.map(({ table }) => table)))
  for (const { table, column, whole } of narrow)
    await setRange(lake, whole, `table_id = ${table} AND column_id = ${column}`)
}

/**
 * Widens the ranges of all tables that have lost rows, which have values of erased ones: DuckLake narrows none when rows are deleted, and keeps those of columns
 * that are gone. As `widenRanges`, to be called before the lake's tables are read. @throws TARGET_LOCKED
 */
export const widenAllRanges = (lake: Lake): Promise<void> =>
  exclusively(lake, async () => {
    const { database, catalogTable } = lake
    const [columns, ranges, files] = ['ducklake_column', 'ducklake_table_column_stats', 'ducklake_data_file'].map(
      catalogTable,
    )
    await database.run(
      `DELETE FROM ${ranges} WHERE (table_id, column_id) NOT IN (SELECT (table_id, column_id) FROM ${columns} WHERE end_snapshot IS NULL)`,
    )
    const rows = await database.rows<{ id: string }>(`
      SELECT table_id::VARCHAR AS id FROM ${catalogTable('ducklake_table_stats')} s
      WHERE record_count <> (SELECT coalesce(sum(record_count), 0) FROM ${files} f WHERE f.table_id = s.table_id AND f.end_snapshot IS NULL)
        OR table_id IN (SELECT table_id FROM ${catalogTable('ducklake_delete_file')} WHERE end_snapshot IS NULL)`)
    if (rows.length === 0) return
    const tables = rows.map(({ id }) => id)
    await makeInexact(lake, tables)
    for (const [type, range] of Object.entries(WHOLE))
      await setRange(
        lake,
        range,
        `coalesce(min_value, max_value) IS NOT NULL AND table_id IN (${tables.join(', ')}) AND (table_id, column_id) IN (
          SELECT (table_id, column_id) FROM ${columns} WHERE column_type = ${quoteText(type)} AND end_snapshot IS NULL)`,
      )
  })
