// What the warehouse keeps of a workspace's configuration: where its days begin.
import { quoteText } from '../catalog/layout.ts'
import type { Writer } from './connection.ts'

/** Keeps the time zone, inside the caller's transaction; writes only where it is another than before. */
export async function keepWorkspace(writer: Writer, workspaceId: string, timeZone: string): Promise<void> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const [kept] = await writer.rows<{ time_zone: string }>(`SELECT time_zone FROM _workspaces WHERE ${here}`)
  if (kept?.time_zone === timeZone) return
  await writer.run(`DELETE FROM _workspaces WHERE ${here}`)
  await writer.run(`INSERT INTO _workspaces VALUES (${quoteText(workspaceId)}, ${quoteText(timeZone)})`)
}
