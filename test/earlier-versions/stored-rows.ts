// Reads the tables of a warehouse file of any layout, without opening it as this version does.
import { DuckDBInstance } from '@duckdb/node-api'

export type Query = (sql: string) => Promise<Record<string, unknown>[]>

/** Runs `work` on the file, which no other instance may have open. */
export async function inFile<T>(file: string, work: (query: Query) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  try {
    return await work(async sql => (await connection.runAndReadAll(sql)).getRowObjectsJson())
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** The columns of each base table with their types: `column type`, sorted. */
export async function tablesOfFile(query: Query): Promise<Record<string, string[]>> {
  const rows =
    await query(`SELECT table_name AS name, list(column_name || ' ' || data_type ORDER BY column_name) AS columns
    FROM duckdb_columns() JOIN duckdb_tables() USING (database_oid, table_oid, table_name)
    WHERE duckdb_columns.schema_name = 'main' GROUP BY ALL ORDER BY ALL`)
  return Object.fromEntries(rows.map(({ name, columns }) => [name as string, columns as string[]]))
}

/** Older names of columns, by table and their name in this version; null: the column is new. */
export type OlderNames = Record<string, Record<string, string | null>>

/** A value as both layouts print it: numbers as text, because a DOUBLE is read as a number and a BIGINT as text. */
const comparable = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value)

/**
 * Rows of all base tables as sorted lines of JSON, under the names of this version, without the columns and tables `of` a single file.
 */
export async function rowsInOrder(
  query: Query,
  { names, of }: { names: OlderNames; of: { columns: readonly string[]; tables: readonly string[] } },
): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const [table, columns] of Object.entries(await tablesOfFile(query))) {
    if (of.tables.includes(table)) continue
    const own = Object.entries(names[table] ?? {})
    const newNames = new Map(own.map(([now, before]) => [before, now]))
    const kept = columns.map(column => column.split(' ')[0]!).filter(column => !of.columns.includes(column))
    const rows = await query(`SELECT ${kept.map(column => `"${column}"`).join(', ')} FROM "${table}"`)
    const lines = rows.map(row => {
      const entries = Object.entries(row).map(
        ([name, value]) => [newNames.get(name) ?? name, comparable(value)] as const,
      )
      return JSON.stringify(Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))))
    })
    found[table] = lines.sort()
  }
  return found
}
