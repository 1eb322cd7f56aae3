// Reads events from the warehouse (`webhook_events`), which can replace spool files that are gone.
import { quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import type { FiledEvent } from './apply.ts'

/** Rows read at a time. */
const ROWS = 500

/** The number of events, and an XOR of their ids' hashes: equal for the same events, whichever files hold them. */
interface EventSum {
  n: string
  ids: string
  /** When the newest was received; null if there is none. */
  newest: string | null
}

/** The sum of all events of a workspace, or of those received by `until`. */
export async function sumEvents(writer: Pick<Writer, 'rows'>, workspaceId: string, until?: string): Promise<EventSum> {
  const by = until === undefined ? '' : `AND received_at <= TIMESTAMP ${quoteText(until)}`
  const [row] = await writer.rows<EventSum>(
    `SELECT count(*)::VARCHAR AS n, coalesce(bit_xor(hash(event_id)), 0)::VARCHAR AS ids, max(received_at)::VARCHAR AS newest
     FROM webhook_events WHERE workspace_id = ${quoteText(workspaceId)} ${by}`,
  )
  return row!
}

interface StoredRow {
  id: string
  type: string
  received: string
  payload: string
  removed: string | null
}

const COLUMNS =
  'event_id AS id, type, epoch_ms(received_at)::VARCHAR AS received, payload::VARCHAR AS payload, removed::VARCHAR AS removed FROM webhook_events'

const eventOf = ({ id, type, received, payload, removed }: StoredRow): FiledEvent => ({
  id,
  type,
  receivedAtMs: Number(received),
  payload: Buffer.from(payload),
  ...(removed !== null && { removed: JSON.parse(removed) as Record<string, number> }),
  file: 'webhook_events',
})

/** One event; undefined if it is unknown. */
export async function storedEvent(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  id: string,
): Promise<FiledEvent | undefined> {
  const [row] = await writer.rows<StoredRow>(
    `SELECT ${COLUMNS} WHERE workspace_id = ${quoteText(workspaceId)} AND event_id = ${quoteText(id)}`,
  )
  return row && eventOf(row)
}

/** All events of a workspace. */
export async function* storedEvents(writer: Pick<Writer, 'rows'>, workspaceId: string): AsyncGenerator<FiledEvent> {
  for (let after = -1; ; ) {
    const rows = await writer.rows<StoredRow & { place: string }>(
      `SELECT rowid::VARCHAR AS place, ${COLUMNS}
       WHERE workspace_id = ${quoteText(workspaceId)} AND rowid > ${after} ORDER BY rowid LIMIT ${ROWS}`,
    )
    for (const row of rows) yield eventOf(row)
    if (rows.length < ROWS) return
    after = Number(rows.at(-1)!.place)
  }
}
