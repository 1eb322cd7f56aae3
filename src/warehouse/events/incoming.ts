// An event on its way from the spool into the tables: when it happened, and what it is of.
import { EVENT_TYPES, type EventType } from '../../catalog/events.ts'
import { isObject } from '../../catalog/inspect.ts'
import { DAY, readTime } from '../../core/time.ts'
import { ExactNumber, readExactly } from '../../json/exact-json.ts'

/** An event as the spool keeps it. */
export interface SpooledEvent {
  id: string
  /** Our clock, ms. */
  receivedAtMs: number
  type: string
  /** JSON without secrets, UTF-8. */
  payload: Uint8Array
  /** Paths at which secrets were removed from it, and how often. */
  removed?: Readonly<Record<string, number>>
}

export interface IncomingEvent {
  id: string
  typeName: string
  /** Null: of no type that is known. */
  type: EventType | null
  receivedMs: number
  /** When it happened, ms: its version. */
  createdMs: number
  /** False where it does not say when, and is taken to have happened when it was received. */
  isDated: boolean
  payload: Readonly<Record<string, unknown>>
  /** Its numbers are what doubles hold: `JSON.stringify` writes it as it came. */
  isPlain: boolean
  /** Paths at which secrets were removed from it, and how often. */
  removed: Readonly<Record<string, number>> | null
  /** What it is of, where it tells both. */
  conversation: { agentId: string; id: string } | null
}

const TYPES: ReadonlyMap<string, EventType> = new Map(EVENT_TYPES.map(type => [type.name, type]))

/**
 * The vendor's clock may be ahead of ours. What is more than a day ahead counts as of its receipt: until that time has come it would win
 * over all exports, and a clock of ours that is a day behind is reported by `doctor`.
 */
const AHEAD_MS = DAY

/** A time that is a number, or a text of one, ms; null where it is none. */
export function timeOf(raw: unknown): number | null {
  const given = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw
  return typeof given === 'number' ? readTime(given).ms : null
}

function createdOf(raw: unknown, receivedMs: number): Pick<IncomingEvent, 'createdMs' | 'isDated'> {
  const ms = timeOf(raw)
  const isDated = ms !== null && ms <= receivedMs + AHEAD_MS
  return { createdMs: Math.floor(isDated ? ms : receivedMs), isDated }
}

/** An id as text; null where there is none. */
export function idOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

/** Digits that a double may not hold, or half of a surrogate pair; in a text of its own neither does harm. */
const NEEDS_CARE = /\d{16}|\d[eE][+-]?\d|\\ud/

/** What the spool keeps is canonical: no key stands twice, and numbers are spelt as they are written again. */
function parse(text: string): Pick<IncomingEvent, 'payload' | 'isPlain'> {
  const isPlain = !NEEDS_CARE.test(text)
  const value: unknown = isPlain ? JSON.parse(text) : readExactly(text).value
  return { payload: isObject(value) ? value : {}, isPlain }
}

/** Reads what the spool keeps. */
export function readIncoming({ id, type, receivedAtMs, payload: bytes, removed }: SpooledEvent): IncomingEvent {
  const { payload, isPlain } = parse(new TextDecoder().decode(bytes))
  const [agentId, convoId] = [idOf(payload.agentId), idOf(payload.convoId)]
  return {
    id,
    typeName: type,
    type: TYPES.get(type) ?? null,
    receivedMs: receivedAtMs,
    ...createdOf(payload.createdAt, receivedAtMs),
    payload,
    isPlain,
    removed: removed ?? null,
    conversation: agentId === null || convoId === null ? null : { agentId, id: convoId },
  }
}

/** Microseconds of a millisecond. */
const MICROSECONDS = 1_000

/**
 * When it happened, ms, with microseconds that its id gives: of two events of one millisecond the same one is always the later,
 * whichever was delivered first.
 */
export function orderedTimeMs({ createdMs, id }: IncomingEvent): number {
  const micros = Number.parseInt(id.slice(0, 8), 16) % MICROSECONDS
  return Math.floor(createdMs) + (Number.isNaN(micros) ? 0 : micros / MICROSECONDS)
}
