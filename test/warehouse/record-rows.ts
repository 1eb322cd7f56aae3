// Rows of every record table of a workspace, as a reader of the tables sees them: without bookkeeping and NULLs.
import { tablesOf } from '../../src/catalog/ddl.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import type { Workspace } from './temporary-warehouse.ts'

const TABLES = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record)))

function shown(row: Row, json: ReadonlySet<string>): Row {
  const kept = Object.entries(row).filter(([name, value]) => value !== null && !name.startsWith('_'))
  return Object.fromEntries(kept.map(([name, value]) => [name, json.has(name) ? JSON.parse(value as string) : value]))
}

/** Returns tables that have rows, each with its rows in an order that depends only on their values. */
export async function recordRows(workspace: Workspace): Promise<Record<string, Row[]>> {
  const found: Record<string, Row[]> = {}
  for (const table of TABLES) {
    const json = new Set(table.columns.filter(column => column.sqlType === 'JSON').map(column => column.name))
    const rows = await workspace.rows(table.name)
    if (rows.length > 0) found[table.name] = rows.map(row => shown(row, json))
  }
  return found
}
