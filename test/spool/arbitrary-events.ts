// Events as the receiver passes them to the spool.
import fc from 'fast-check'
import { eventTypeOf } from '../../src/catalog/events/event-types.ts'
import { canonicalJson } from '../../src/json/canonical.ts'
import { eventId } from '../../src/receiver/parse-event.ts'
import type { SpoolEvent } from '../../src/spool/event-line.ts'
import { openSpool } from '../../src/spool/spool.ts'

export const payloads = fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), fc.jsonValue(), { maxKeys: 6 })

export function spoolEvent(
  payload: Record<string, unknown>,
  workspaceId = 'ws',
  receivedAtMs = 1_763_745_000_123,
): SpoolEvent {
  const bytes = Buffer.from(canonicalJson(payload))
  const type = eventTypeOf(payload)
  const id = eventId({ type, createdAt: payload.createdAt, payload: bytes })
  return { id, receivedAtMs, workspaceId, type, payload: bytes }
}

export const spoolEvents = fc
  .tuple(payloads, fc.string({ minLength: 1 }))
  .map(([payload, id]): SpoolEvent => spoolEvent(payload, id))

/** Receives events as one sealed segment. `payloads`: with the name of their type in `event`. */
export async function receiveEvents(
  { home, workspaceId, nowMs }: { home: string; workspaceId: string; nowMs: number },
  payloads: readonly Record<string, unknown>[],
): Promise<void> {
  const spool = openSpool({ home, now: () => nowMs })
  await Promise.all(payloads.map(payload => spool.append(spoolEvent(payload, workspaceId, nowMs))))
  await spool.close()
}
