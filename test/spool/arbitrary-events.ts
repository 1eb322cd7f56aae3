// Events as a spool is given them.
import fc from 'fast-check'
import { canonicalJson } from '../../src/core/canonical.ts'
import { eventId, type SpoolEvent } from '../../src/spool/event-line.ts'

export const payloads = fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), fc.jsonValue(), { maxKeys: 6 })

export function spoolEvent(payload: Record<string, unknown>, workspaceId = 'ws'): SpoolEvent {
  const bytes = Buffer.from(canonicalJson(payload))
  const type = 'unknown'
  const id = eventId({ type, createdAt: payload.createdAt, payload: bytes })
  return { id, receivedAtMs: 1_763_745_000_123, workspaceId, type, payload: bytes }
}

export const spoolEvents = fc
  .tuple(payloads, fc.string({ minLength: 1 }))
  .map(([payload, id]) => spoolEvent(payload, id))
