// Which event an event is: one that is delivered twice has one id, whatever the order of its keys. To find it out takes longer than
// all else that is done with an event, so it is mostly found out by whoever reads the spool, long after it was acknowledged.
import { createHash } from 'node:crypto'
import { eventTypeOf } from '../catalog/event-type.ts'
import { canonicalText } from '../json/canonical.ts'
import type { SpoolEvent } from './event-line.ts'

/** `payload` is canonical. */
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

/** An event of which that is known, and whose payload is canonical. */
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
