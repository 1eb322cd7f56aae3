// An event on its way from the spool into the tables: when it happened, and which conversation it belongs to.
import { EVENT_TYPES, type EventType } from '../../catalog/events/event-types.ts'
import { isObject } from '../../catalog/inspection/inspect.ts'
import { DAY, readTime } from '../../core/time.ts'
import { ExactNumber, readCanonical } from '../../json/exact-json.ts'

/** An event as stored in the spool, with its position in the spool's archive. */
export interface SpooledEvent {
  /** Path of the archive file, relative to the spool. */
  file: string
  /** Start of the event's line in the decompressed file. */
  offset: number
  id: string
  /** Time of receipt by our clock, ms. */
  receivedAtMs: number
  type: string
  /** JSON without secrets, UTF-8. */
  payload: Uint8Array
  /** Number of removed secrets, by path. */
  removed?: Readonly<Record<string, number>>
}

export interface IncomingEvent {
  file: string
  offset: number
  id: string
  typeName: string
  /** Null for an unknown type. */
  type: EventType | null
  receivedMs: number
  /** Time when the event happened, ms; also its version. */
  createdMs: number
  /** False if the event has no usable time and takes the time of its receipt. */
  isDated: boolean
  payload: Readonly<Record<string, unknown>>
  /** Writes values of the payload as their original JSON. */
  write: (value: unknown) => string
  /** Number of removed secrets, by path. */
  removed: Readonly<Record<string, number>> | null
  /** The event's conversation; null if either id is missing. */
  conversation: { agentId: string; id: string } | null
}

const TYPES: ReadonlyMap<string, EventType> = new Map(EVENT_TYPES.map(type => [type.name, type]))

/**
 * Maximum lead of the vendor's clock over ours. An event with a later time takes the time of its receipt, because it
 * would otherwise override all exports until that time. `doctor` reports if our clock is a day behind.
 */
const AHEAD_MS = DAY

/** Returns a time given as a number or its text, ms; null if it is neither. */
export function timeOf(raw: unknown): number | null {
  const given = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw
  return typeof given === 'number' ? readTime(given).ms : null
}

function createdOf(raw: unknown, receivedMs: number): Pick<IncomingEvent, 'createdMs' | 'isDated'> {
  const ms = timeOf(raw)
  const isDated = ms !== null && ms <= receivedMs + AHEAD_MS
  return { createdMs: Math.floor(isDated ? ms : receivedMs), isDated }
}

/** Returns an id as text; null if there is none. */
export function idOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

/** Parses an event of the spool. */
export function readIncoming(event: SpooledEvent): IncomingEvent {
  const { id, file, offset, type, receivedAtMs, payload: bytes, removed } = event
  const { value, write } = readCanonical(new TextDecoder().decode(bytes))
  const payload = isObject(value) ? value : {}
  const [agentId, convoId] = [idOf(payload.agentId), idOf(payload.convoId)]
  return {
    file,
    offset,
    id,
    typeName: type,
    type: TYPES.get(type) ?? null,
    receivedMs: receivedAtMs,
    ...createdOf(payload.createdAt, receivedAtMs),
    payload,
    write,
    removed: removed ?? null,
    conversation: agentId === null || convoId === null ? null : { agentId, id: convoId },
  }
}

/** Microseconds in a millisecond. */
const MICROSECONDS = 1_000

/**
 * Returns the event's time, ms, with microseconds derived from its id, so that two events of one millisecond always
 * have the same order.
 */
export function orderedTimeMs({ createdMs, id }: IncomingEvent): number {
  const micros = Number.parseInt(id.slice(0, 8), 16) % MICROSECONDS
  return Math.floor(createdMs) + (Number.isNaN(micros) ? 0 : micros / MICROSECONDS)
}
