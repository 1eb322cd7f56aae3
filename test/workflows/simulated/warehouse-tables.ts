// A warehouse's tables as plain rows for comparison: times are ms, JSON is parsed, bookkeeping columns are omitted.
import type { Row } from '../../../src/warehouse/connection.ts'

type Rows = (sql: string) => Promise<Row[]>

/** Rows by table. */
export type Tables = Map<string, Row[]>

const READ: Record<string, (column: string) => string> = {
  'TIMESTAMP WITH TIME ZONE': column => `epoch_us(${column}) / 1000.0`,
  DATE: column => `${column}::VARCHAR`,
  INTEGER: column => `${column}::DOUBLE`,
  BIGINT: column => `${column}::DOUBLE`,
}

/** Returns the names and columns of the tables that hold conversation records: `conversations` and its child tables. */
async function recordTables(rows: Rows): Promise<Columns> {
  // Lists the columns of all tables in one query, because that query takes longer than reading a small table.
  const columns =
    await rows(`WITH columns AS MATERIALIZED (SELECT table_name, column_name, data_type, column_index FROM duckdb_columns()
      WHERE database_name = current_database() AND schema_name = 'main' AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT internal))
    SELECT table_name, column_name, data_type FROM columns
    WHERE table_name IN (SELECT table_name FROM columns WHERE column_name = 'conversation_id')
    AND table_name NOT IN ('conversation_observations', 'conversation_patches') AND table_name NOT LIKE '\\_%' ESCAPE '\\'
    AND column_name NOT LIKE '\\_%' ESCAPE '\\' AND column_name <> 'workspace_id' ORDER BY table_name, column_index`)
  const tables: Columns = new Map()
  for (const row of columns) {
    const { table_name: table, column_name: name, data_type: type } = row as Record<string, string>
    tables.set(table!, [...(tables.get(table!) ?? []), { name: name!, type: type! }])
  }
  return tables
}

/** Returns all rows of `conversations` and its child tables, or only the rows of one workspace. */
export async function warehouseTables(rows: Rows, workspaceId?: string): Promise<Tables> {
  return rowsOf(rows, await recordTables(rows), workspaceId)
}

type Columns = Map<string, { name: string; type: string }[]>

/** Reads these columns of each table; omits empty tables. */
async function rowsOf(rows: Rows, found: Columns, workspaceId?: string): Promise<Tables> {
  const where = workspaceId === undefined ? '' : ` WHERE workspace_id = '${workspaceId}'`
  const tables: Tables = new Map()
  for (const [table, columns] of found) {
    const items = columns.map(({ name, type }) => `${READ[type]?.(`"${name}"`) ?? `"${name}"`} AS "${name}"`)
    const json = columns.filter(column => column.type === 'JSON').map(column => column.name)
    const all = await rows(`SELECT ${items.join(', ')} FROM ${table}${where}`)
    if (all.length === 0) continue
    for (const row of all)
      for (const name of json) if (row[name] !== null) row[name] = JSON.parse(String(row[name])) as unknown
    tables.set(table, all)
  }
  return tables
}

const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, inner]) => [key, canonical(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns a row as text, with its columns sorted by name. */
const asLine = (row: Row): string => {
  const members = orderOf(Object.keys(row)).map(
    name => `${JSON.stringify(name)}:${JSON.stringify(canonical(row[name]))}`,
  )
  return `{${members.join(',')}}`
}

const orders = new Map<string, string[]>()

/** Sorts column names; the result is cached, because all rows of a table have the same columns. */
function orderOf(names: string[]): string[] {
  const shape = names.join()
  const order = orders.get(shape) ?? names.sort()
  orders.set(shape, order)
  return order
}

/** Returns the rows as sorted lines of text: lines are equal if and only if the rows are, and each differing row is one line. */
export const asLines = (tables: Tables): Record<string, string[]> =>
  Object.fromEntries(
    [...tables].map(([table, rows]) => [table, rows.map(asLine).sort()] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
