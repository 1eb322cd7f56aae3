// Events as the receiver hands them to the spool.
import fc from 'fast-check'
import { canonicalJson } from '../../src/json/canonical.ts'
import type { SpoolEvent } from '../../src/spool/event-line.ts'
import { eventId, type IdentifiedEvent } from '../../src/spool/identity.ts'

const AS_SENT = { id: null, type: null }

export const payloads = fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), fc.jsonValue(), { maxKeys: 6 })

export function spoolEvent(payload: Record<string, unknown>, workspaceId = 'ws'): IdentifiedEvent {
  const bytes = Buffer.from(canonicalJson(payload))
  const type = 'unknown'
  const id = eventId({ type, createdAt: payload.createdAt, payload: bytes })
  return { id, receivedAtMs: 1_763_745_000_123, workspaceId, type, payload: bytes }
}

/** Random events, some of them as sent: without derived id and type. */
export const spoolEvents = fc
  .tuple(payloads, fc.string({ minLength: 1 }), fc.boolean())
  .map(([payload, id, isAsSent]): SpoolEvent => ({ ...spoolEvent(payload, id), ...(isAsSent && AS_SENT) }))
