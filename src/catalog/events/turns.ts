// Extracts messages from turns. API document 6.3 does not show their shape, so several are accepted (notes on the API, "Shape of an
// element of turns"): `{from, messages: [{type, item: {payload: {message}}}], ts, session_id}`, flat turns with `text`, `content` or
// `message`, and turns whose text is a list of parts. Values without a column go to `extra`, since transcripts are stored nowhere else.
import { momentIn } from '../../core/time.ts'
import { ExactNumber, writeExactly } from '../../json/exact-json.ts'
import { isObject, isScalar } from '../inspection/inspect.ts'
import { ROLES } from './sender-roles.ts'

/** One message; a turn without messages counts as one. */
interface Message {
  /** Positions of the turn in the list as sent, and of the message in the turn, from 1. */
  turnPosition: number
  messagePosition: number
  turnId: unknown
  sessionId: unknown
  role: unknown
  text: string | null
  at: unknown
  /** JSON of the values without a column: of the message, and, with its first message, of the turn around it. */
  extra: string | null
  turnExtra: string | null
}

/** Writes a value as JSON. */
type Write = (value: unknown) => string

type Json = Readonly<Record<string, unknown>>

const TEXT = ['text', 'content', 'message', 'body', 'parts', 'item', 'payload', 'value']
const TURN_ID = ['turnId', 'turnID', 'turn_id', 'id', 'ID', '_id']
const SESSION_ID = ['sessionId', 'sessionID', 'session_id']
const ROLE = ['role', 'from', 'sender']

/** True for words for roles. Other senders may be names, addresses or telephone numbers, which the column must not contain. */
const isRole = (value: unknown): boolean => ROLE_WORDS.has(String(value).toLowerCase())
const ROLE_WORDS = new Set(Object.values(ROLES).flat())

const AT = ['timestamp', 'ts', 'createdAt', 'created_at', 'sentAt', 'time', 'date']

/** Matches types of message parts that nobody said or wrote: tool calls and reasoning. */
const UNSAID = /^(tool|function|reasoning|thinking)/i

/** Number of levels of nested objects that are searched for a text. */
const DEEPEST = 8

/** Returns a scalar as text; a number keeps all of its digits. */
const textOf = (scalar: unknown): string => (scalar instanceof ExactNumber ? scalar.text : String(scalar))

const isUnsaid = (part: unknown): boolean => isObject(part) && typeof part.type === 'string' && UNSAID.test(part.type)

function textIn(value: unknown, levels = DEEPEST): string | null {
  if (isScalar(value)) return value === null || value === undefined ? null : textOf(value)
  if (levels === 0) return null
  if (Array.isArray(value)) {
    const parts = value.filter(part => !isUnsaid(part))
    const said = parts.map(part => textIn(part, levels - 1)).filter(text => text !== null && text !== '')
    return said.length > 0 ? said.join('\n') : null
  }
  let found: string | null = null
  for (const key of TEXT) {
    const text = Object.hasOwn(value as Json, key) ? textIn((value as Json)[key], levels - 1) : null
    if (text) return text
    found ??= text
  }
  return found
}

/** Returns the value without the string that `textIn` returned; unchanged if that text was joined from parts, or was a number. */
function withoutText(value: unknown, text: string, levels = DEEPEST): unknown {
  if (value === text) return undefined
  if (isScalar(value) || levels === 0) return value
  if (Array.isArray(value)) {
    const place = value.findIndex(part => !isUnsaid(part) && textIn(part, levels - 1))
    // A part that is itself the text stays: removing it would move the other parts.
    const part = isScalar(value[place]) ? undefined : withoutText(value[place], text, levels - 1)
    return part === undefined || part === value[place] ? value : value.with(place, part)
  }
  const object = value as Json
  const key = TEXT.find(name => Object.hasOwn(object, name) && textIn(object[name], levels - 1))
  if (key === undefined) return value
  const inner = withoutText(object[key], text, levels - 1)
  if (inner === object[key]) return value
  const isEmpty = inner === undefined || (isObject(inner) && Object.keys(inner).length === 0)
  const entries = Object.entries(object).filter(([name]) => !isEmpty || name !== key)
  return Object.fromEntries(entries.map(([name, kept]) => [name, name === key ? inner : kept]))
}

/** A value that fills a column, and the field that contained it. */
interface Source {
  object: Json
  key: string
  value: unknown
}

/** Returns the first non-empty scalar under one of these keys: of the message, else of its turn. */
function firstOf(keys: readonly string[], ...objects: Json[]): Source | null {
  for (const object of objects) {
    for (const key of keys) {
      const value = Object.hasOwn(object, key) ? object[key] : null
      if (value !== null && value !== undefined && value !== '' && isScalar(value)) return { object, key, value }
    }
  }
  return null
}

const EXACT_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z$/

/** True for a number of seconds or ms, or an ISO-8601 time in UTC, which a TIMESTAMPTZ represents exactly. */
function isExactTime(value: unknown): boolean {
  const isExact =
    typeof value === 'string' ? EXACT_TIME.test(value) : Number.isSafeInteger(value) && Number(value) < 1e14
  return isExact && momentIn(String(value)) !== null
}

/** Returns JSON of the fields of `value`, except those that columns hold; null if there are none. */
function remainder(value: unknown, held: readonly Source[], write: Write): string | null {
  if (value === null || value === undefined) return null
  if (!isObject(value)) return write(value)
  const entries = Object.entries(value).filter(([key]) => !held.some(source => source.key === key))
  return entries.length > 0 ? write(Object.fromEntries(entries)) : null
}

function roleOf(...objects: Json[]): Source | null {
  const found = firstOf(ROLE, ...objects)
  return found?.key === 'role' || isRole(found?.value) ? found : null
}

function messagesOfTurn(turn: unknown, turnPosition: number, write: Write): Message[] {
  const own = isObject(turn) ? turn : {}
  const listed = Array.isArray(own.messages)
    ? (own.messages as unknown[])
    : isObject(own.messages)
      ? [own.messages]
      : []
  // A turn's own text counts only if its messages have none.
  const several = listed.length > 0 && (listed.some(message => textIn(message) !== null) || textIn(turn) === null)
  return (several ? listed : [turn]).map((message, index) => {
    const inner = several && isObject(message) ? message : own
    const turnId = firstOf(TURN_ID, own)
    const sessionId = firstOf(SESSION_ID, inner, own)
    // The type of a turn replaces a missing role; the type of a message is `text` or similar.
    const role = roleOf(inner, own) ?? firstOf(['type'], own)
    const at = firstOf(AT, inner, own)
    const text = textIn(message)
    const texts = [turnId, sessionId, role].filter(source => typeof source?.value === 'string')
    const held = [...texts, isExactTime(at?.value) ? at : null].filter(source => source !== null)
    const heldOf = (object: Json) => held.filter(source => source.object === object)
    const { messages: _, ...around } = own
    return {
      turnPosition,
      messagePosition: index + 1,
      turnId: turnId?.value ?? null,
      sessionId: sessionId?.value ?? null,
      role: role?.value ?? null,
      text,
      at: at?.value ?? null,
      extra: remainder(
        text === null ? message : withoutText(message, text),
        several && inner === own ? [] : heldOf(inner),
        write,
      ),
      turnExtra: several && index === 0 ? remainder(around, heldOf(own), write) : null,
    }
  })
}

/**
 * Returns a transcript's messages, sorted by time. A message without a time gets that of the previous one. Those of the same second
 * keep the order in which they were sent, since some times may have whole seconds only; further apart, times decide, even if clocks differ.
 */
export function messagesOf(turns: readonly unknown[], write: Write = writeExactly): Message[] {
  const sent = turns.flatMap((turn, index) => messagesOfTurn(turn, index + 1, write))
  let last = Number.NEGATIVE_INFINITY
  const timed = sent.map(message => {
    const ms = message.at === null ? null : momentIn(textOf(message.at))
    last = ms === null ? last : Math.floor(ms / 1_000)
    return { message, second: last }
  })
  return timed.sort((a, b) => (a.second === b.second ? 0 : a.second - b.second)).map(({ message }) => message)
}
