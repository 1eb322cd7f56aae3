// The identity of an event: an event that is delivered twice has one ID, whatever the order of its keys. Deriving it costs more than all other
// work on an event, so it is mostly left to the reader of the spool, after the acknowledgement.
import { createHash } from 'node:crypto'
import { eventTypeOf } from '../catalog/events/identify-type.ts'
import { canonicalText } from '../json/canonical.ts'
import type { SpoolEvent } from './event-line.ts'

/** The SHA-256 of an event, as hex. `payload` must be canonical. */
export function eventId({
  type,
  createdAt,
  payload,
}: {
  type: string
  createdAt: unknown
  payload: Uint8Array
}): string {
  const head = `${JSON.stringify([type, createdAt ?? null])}\n`
  return createHash('sha256').update(head).update(payload).digest('hex')
}

/** An event with a derived ID and a canonical payload. */
export type IdentifiedEvent = SpoolEvent & { id: string; type: string }

const isIdentified = (event: SpoolEvent): event is IdentifiedEvent => event.id !== null && event.type !== null

export function identified(event: SpoolEvent): IdentifiedEvent {
  if (isIdentified(event)) return event
  const text = textOf(event.payload)
  const value = JSON.parse(text) as Record<string, unknown>
  const payload = Buffer.from(canonicalText(value, text))
  const type = eventTypeOf(value)
  return { ...event, id: eventId({ type, createdAt: value.createdAt, payload }), type, payload }
}

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString()
