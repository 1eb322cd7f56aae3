// The body of a webhook request: payload, workspace secret, readings and content faults.
import type { WorldEvent } from '../events/event-types.ts'
import type { Turn } from '../events/transcript.ts'
import type { Readings } from '../readings.ts'
import type { EventFate } from './event-faults.ts'

interface Sender {
  secret: string
  readings: Readings
}

/** JSON text; a fault may replace the secret or add padding. */
export function bodyOf({ payload }: WorldEvent, { content }: EventFate, { secret, readings }: Sender): string {
  const workspaceSecret = content?.name === 'wrong-secret' ? WRONG_SECRET : secret
  const body = JSON.stringify({ ...shapeEvent(payload, readings), workspaceSecret })
  return content?.name === 'oversized' ? padded(body, content.param) : body
}

const WRONG_SECRET = 'not-the-secret-of-this-workspace'

function padded(body: string, bytes: number): string {
  const padding = Math.max(0, bytes - Buffer.byteLength(body) - '"padding":"",'.length)
  return `{"padding":"${'x'.repeat(padding)}",${body.slice(1)}`
}

type Payload = Readonly<Record<string, unknown>>

/** Applies the readings `event-field` and `turns`; unchanged by default. */
function shapeEvent(payload: Payload, readings: Readings): Payload {
  const field = readings['event-field']
  if (field === 'event' && readings.turns === 'text') return payload
  const { event, turns, ...others } = payload
  return {
    ...(field !== 'absent' && { [field]: event }),
    ...others,
    ...(Array.isArray(turns) && { turns: (turns as Turn[]).map(turn => shapeTurn(turn, readings.turns)) }),
  }
}

/** `messages` is the vendor's own shape; the others are common for models and their libraries. */
function shapeTurn(turn: Turn, reading: Readings['turns']): object {
  const { text, ...others } = turn
  switch (reading) {
    case 'content':
      return { ...others, content: text }
    case 'message':
      return { ...others, message: text }
    case 'parts':
      return { ...others, parts: [{ type: 'text', text }] }
    case 'messages':
      return {
        from: turn.role,
        messages: [{ type: turn.type, item: { type: turn.type, payload: { message: text } } }],
        ts: turn.timestamp,
        session_id: turn.sessionId,
      }
    default:
      return turn
  }
}
