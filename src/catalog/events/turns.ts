// Extracts messages from turns. API document 6.3 does not show their shape, so several are accepted (notes on the API, "Shape of an element
// of turns"): `{from, messages: [{type, item: {payload: {message}}}], ts, session_id}`, flat turns with `text`, `content` or `message`, and
// turns whose text is a list of parts.
import { momentIn } from '../../core/time.ts'
import { ExactNumber } from '../../json/exact-json.ts'
import { isObject, isScalar } from '../inspection/inspect.ts'

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
}

type Json = Readonly<Record<string, unknown>>

const TEXT = ['text', 'content', 'message', 'body', 'parts', 'item', 'payload', 'value']
const TURN_ID = ['turnId', 'turnID', 'turn_id', 'id', 'ID', '_id']
const SESSION_ID = ['sessionId', 'sessionID', 'session_id']
const ROLE = ['role', 'from', 'sender']
const AT = ['timestamp', 'ts', 'createdAt', 'created_at', 'sentAt', 'time', 'date']

/** Types of message parts that nobody said or wrote: tool calls and reasoning. */
const UNSAID = /^(tool|function|reasoning|thinking)/i

/** Levels of nested objects that are searched for a text. */
const DEEPEST = 8

/** A scalar as text; a number keeps all of its digits. */
const textOf = (scalar: unknown): string => (scalar instanceof ExactNumber ? scalar.text : String(scalar))

function textIn(value: unknown, levels = DEEPEST): string | null {
  if (isScalar(value)) return value === null || value === undefined ? null : textOf(value)
  if (levels === 0) return null
  if (Array.isArray(value)) {
    const parts = value.filter(part => !(isObject(part) && typeof part.type === 'string' && UNSAID.test(part.type)))
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

/** The first non-empty scalar under one of these keys: of the message, else of its turn. */
function firstOf(keys: readonly string[], ...objects: Json[]): unknown {
  for (const object of objects) {
    for (const key of keys) {
      const value = Object.hasOwn(object, key) ? object[key] : null
      if (value !== null && value !== undefined && value !== '' && isScalar(value)) return value
    }
  }
  return null
}

function messagesOfTurn(turn: unknown, turnPosition: number): Message[] {
  const own = isObject(turn) ? turn : {}
  const listed = Array.isArray(own.messages)
    ? (own.messages as unknown[])
    : isObject(own.messages)
      ? [own.messages]
      : []
  // A turn's own text counts only where its messages have none.
  const several = listed.length > 0 && (listed.some(message => textIn(message) !== null) || textIn(turn) === null)
  return (several ? listed : [turn]).map((message, index) => {
    const inner = several && isObject(message) ? message : own
    return {
      turnPosition,
      messagePosition: index + 1,
      turnId: firstOf(TURN_ID, own),
      sessionId: firstOf(SESSION_ID, inner, own),
      // The type of a turn replaces a missing role; the type of a message is `text` or the like.
      role: firstOf(ROLE, inner, own) ?? firstOf(['type'], own),
      text: textIn(message),
      at: firstOf(AT, inner, own),
    }
  })
}

/** The messages of a transcript, sorted by time. A message without a time has that of the message before it; equal times keep the order sent. */
export function messagesOf(turns: readonly unknown[]): Message[] {
  const sent = turns.flatMap((turn, index) => messagesOfTurn(turn, index + 1))
  let last = Number.NEGATIVE_INFINITY
  const timed = sent.map(message => {
    last = (message.at === null ? null : momentIn(textOf(message.at))) ?? last
    return { message, ms: last }
  })
  return timed.sort((a, b) => (a.ms === b.ms ? 0 : a.ms - b.ms)).map(({ message }) => message)
}
