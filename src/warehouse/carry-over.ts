// Rows of workspaces that a replay does not rebuild: what is not configured here is not thrown away.
import { quoteName, quoteText } from '../catalog/layout.ts'
import type { Writer } from './connection.ts'

/** Told by nothing that landed, and copied whole. */
const COPIED_ALREADY = '_runs'

/**
 * Copies the rows of every workspace but the `rebuilt` ones from the open warehouse into another file, which nobody has
 * open. The tables must be there.
 */
export async function carryOver(from: Writer, toFile: string, rebuilt: readonly string[]): Promise<void> {
  const others = `workspace_id NOT IN (${rebuilt.map(quoteText).join(', ')})`
  await from.alone(async () => {
    await from.run(`ATTACH ${quoteText(toFile)} AS rebuilt`)
    try {
      const tables = await from.rows<{ name: string }>(`
        SELECT DISTINCT table_name AS name FROM duckdb_columns() JOIN duckdb_tables() USING (database_oid, table_oid, table_name)
        WHERE duckdb_columns.database_name = current_database() AND NOT temporary AND column_name = 'workspace_id'`)
      for (const { name } of tables.filter(table => table.name !== COPIED_ALREADY)) {
        const table = quoteName(name)
        await from.run(`INSERT INTO rebuilt.${table} BY NAME SELECT * FROM ${table} WHERE ${others}`)
      }
      // A log that stayed behind would not follow the file to its new name.
      await from.run('CHECKPOINT rebuilt')
    } finally {
      await from.run('DETACH rebuilt')
    }
  })
}
