// Webhook events as the spool returns them, applied to a test's warehouse.
import { canonicalJson } from '../../../src/json/canonical.ts'
import { eventId } from '../../../src/receiver/parse-event.ts'
import { type Applied, applyEvents } from '../../../src/warehouse/events/apply.ts'
import type { SpooledEvent } from '../../../src/warehouse/events/incoming.ts'
import { SENT_AT_MS } from '../landed-pages.ts'
import type { Workspace } from '../temporary-warehouse.ts'

export const RECEIVED_MS = SENT_AT_MS + 5_000

/** Returns an event as the spool stores it: canonical JSON, with its id. */
export function eventOf(
  type: string,
  payload: Record<string, unknown>,
  { receivedAtMs = RECEIVED_MS }: { receivedAtMs?: number } = {},
): SpooledEvent {
  const bytes = Buffer.from(canonicalJson({ event: type, ...payload }))
  const id = eventId({ type, createdAt: payload.createdAt, payload: bytes })
  return { id, type, payload: bytes, receivedAtMs, file: 'ws/drained/2026-11-20.ndjson', offset: 0 }
}

export const applyTo = ({ context }: Workspace, ...events: SpooledEvent[]): Promise<Applied> =>
  applyEvents(context, events)
