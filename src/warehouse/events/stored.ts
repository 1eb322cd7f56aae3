// Reads events from `webhook_events`.
import { quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'

/** Where an event's payload is in the spool's archive: the file, and the offset of its line in bytes. */
export interface PayloadAddress {
  file: string
  offset: number
}

/** The address of an event's payload; undefined where the event is unknown or its payload is lost. */
export async function payloadAddress(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  id: string,
): Promise<PayloadAddress | undefined> {
  const [row] = await writer.rows<{ file: string; place: string }>(
    `SELECT payload_file AS file, payload_offset::VARCHAR AS place FROM webhook_events
     WHERE workspace_id = ${quoteText(workspaceId)} AND event_id = ${quoteText(id)} AND payload_file IS NOT NULL`,
  )
  return row && { file: row.file, offset: Number(row.place) }
}
