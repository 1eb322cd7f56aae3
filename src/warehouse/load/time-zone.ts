// What the warehouse keeps of a workspace's configuration: where its days begin.
import { layoutOf, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import type { Writer } from '../connection.ts'

/** Derives the days of all rows of a workspace anew; `schema` is an attached file's. */
export async function deriveDays(
  writer: Writer,
  { workspaceId, timeZone, schema }: { workspaceId: string; timeZone: string; schema?: string },
): Promise<void> {
  for (const { record, rederived } of RECORD_TYPES.map(type => layoutOf(type, timeZone)))
    for (const { column, value } of rederived)
      await writer.run(`UPDATE ${schema === undefined ? '' : `${schema}.`}${record.table} SET ${column} = ${value}
        WHERE workspace_id = ${quoteText(workspaceId)} AND ${column} IS DISTINCT FROM ${value}`)
}

async function storedZone(writer: Writer, workspaceId: string): Promise<string | undefined> {
  const [kept] = await writer.rows<{ time_zone: string }>(
    `SELECT time_zone FROM _workspaces WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  return kept?.time_zone
}

/**
 * Keeps the time zone, inside the caller's transaction; where it is another than before, every day that is stored is derived
 * anew.
 */
export async function storeTimeZone(writer: Writer, workspaceId: string, timeZone: string): Promise<void> {
  const kept = await storedZone(writer, workspaceId)
  if (kept === timeZone) return
  await writer.run(`DELETE FROM _workspaces WHERE workspace_id = ${quoteText(workspaceId)}`)
  await writer.run(`INSERT INTO _workspaces VALUES (${quoteText(workspaceId)}, ${quoteText(timeZone)})`)
  if (kept !== undefined) await deriveDays(writer, { workspaceId, timeZone })
}

/** Where the configured zone is another than the stored rows', changes them in one transaction, whether or not anything is loaded. */
export async function applyTimeZone(writer: Writer, workspaceId: string, timeZone: string): Promise<void> {
  const kept = await storedZone(writer, workspaceId)
  if (kept === undefined || kept === timeZone) return
  await writer.transaction(() => storeTimeZone(writer, workspaceId, timeZone))
}
