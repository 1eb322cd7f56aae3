// Every row of every table, bookkeeping included, as plain text. A warehouse, its replay and a replay in another folder
// must have the same rows.
import type { Row } from '../../../src/warehouse/connection.ts'

/** Tables that describe the warehouse file and local folders, not the landed data. */
const OF_THIS_PLACE = ['_change_log', '_changes', '_checks', '_consumers', '_folders', '_layout', '_marts', '_people']
/** Load times and record numbers differ between loads. So does coercion of a page if other pages of its batch cause it. */
const OF_THIS_LOAD = ['_loaded_at', 'loaded_at', 'quarantined_at', '_record', 'coerced']

/** Returns the rows as sorted lines, by table. */
export async function everyColumn(rows: (sql: string) => Promise<Row[]>): Promise<Record<string, string[]>> {
  const quoted = (names: readonly string[]) => names.map(name => `'${name}'`).join(', ')
  const tables =
    await rows(`SELECT table_name AS name, list('"' || column_name || '"::VARCHAR AS "' || column_name || '"' ORDER BY column_name) AS columns
    FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal AND column_name NOT IN (${quoted(OF_THIS_LOAD)})
      AND table_name NOT IN (${quoted(OF_THIS_PLACE)}) AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT temporary AND database_name = current_database())
    GROUP BY ALL ORDER BY ALL`)
  const found: Record<string, string[]> = {}
  for (const { name, columns } of tables as { name: string; columns: string[] }[])
    found[name] = (await rows(`SELECT ${columns.join(', ')} FROM ${name}`)).map(row => JSON.stringify(row)).sort()
  return found
}
