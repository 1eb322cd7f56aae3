// Reads the events of a warehouse of layout 14 or earlier, whose rows hold the payloads.
import { quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import { OLDER } from './older-warehouse.ts'

/** Rows read at a time. */
const ROWS = 500

/** An event with its payload: canonical JSON without secrets. */
export interface OlderEvent {
  id: string
  type: string
  receivedAtMs: number
  payload: Buffer
  /** Number of secrets that were removed, by path. */
  removed?: Record<string, number>
}

interface StoredRow {
  place: string
  id: string
  type: string
  received: string
  payload: string
  removed: string | null
}

/** The workspaces with events in the older warehouse. */
export async function olderEventWorkspaces({ writer }: { writer: Writer }): Promise<string[]> {
  const rows = await writer.rows<{ id: string }>(
    `SELECT DISTINCT workspace_id AS id FROM ${OLDER}.webhook_events ORDER BY id`,
  )
  return rows.map(({ id }) => id)
}

/** All events of a workspace in the older warehouse. */
export async function* olderEvents({ writer }: { writer: Writer }, workspaceId: string): AsyncGenerator<OlderEvent> {
  const [column] = await writer.rows(`SELECT 1 FROM duckdb_columns()
    WHERE database_name = '${OLDER}' AND table_name = 'webhook_events' AND column_name = 'removed'`)
  // Layout 6 lacks it.
  const removedSecrets = column === undefined ? 'NULL' : 'removed'
  for (let after = -1; ; ) {
    const rows = await writer.rows<StoredRow>(
      `SELECT rowid::VARCHAR AS place, event_id AS id, type, epoch_ms(received_at)::VARCHAR AS received,
         payload::VARCHAR AS payload, ${removedSecrets}::VARCHAR AS removed
       FROM ${OLDER}.webhook_events
       WHERE workspace_id = ${quoteText(workspaceId)} AND rowid > ${after} AND payload IS NOT NULL ORDER BY rowid LIMIT ${ROWS}`,
    )
    for (const { id, type, received, payload, removed } of rows)
      yield {
        ...{ id, type, receivedAtMs: Number(received), payload: Buffer.from(payload) },
        ...(removed !== null && { removed: JSON.parse(removed) as Record<string, number> }),
      }
    if (rows.length < ROWS) return
    after = Number(rows.at(-1)!.place)
  }
}
