// Events as the warehouse keeps them: as good a source as the spool, where files of that are gone.
import { quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import type { FiledEvent } from './apply.ts'

/** Rows that are read at a time. */
const ROWS = 500

export async function countEvents(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<number> {
  const [row] = await writer.rows<{ n: string }>(
    `SELECT count(*)::VARCHAR AS n FROM webhook_events WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  return Number(row!.n)
}

/** All events of a workspace. */
export async function* storedEvents(writer: Pick<Writer, 'rows'>, workspaceId: string): AsyncGenerator<FiledEvent> {
  for (let after = -1; ; ) {
    const rows = await writer.rows<{ place: string; id: string; type: string; received: string; payload: string }>(
      `SELECT rowid::VARCHAR AS place, event_id AS id, type, epoch_ms(received_at)::VARCHAR AS received, payload::VARCHAR AS payload
       FROM webhook_events WHERE workspace_id = ${quoteText(workspaceId)} AND rowid > ${after} ORDER BY rowid LIMIT ${ROWS}`,
    )
    for (const { id, type, received, payload } of rows)
      yield { id, type, receivedAtMs: Number(received), payload: Buffer.from(payload), file: 'webhook_events' }
    if (rows.length < ROWS) return
    after = Number(rows.at(-1)!.place)
  }
}
