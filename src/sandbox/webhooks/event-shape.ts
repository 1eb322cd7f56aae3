// An event's payload as the readings have it: which field names its type, and how the turns of a conversation are written.
import type { Turn } from '../events/transcript.ts'
import type { Readings } from '../readings.ts'

type Payload = Readonly<Record<string, unknown>>

/** The same payload where the readings are the sandbox's own. */
export function shapeEvent(payload: Payload, readings: Readings): Payload {
  const field = readings['event-field']
  if (field === 'event' && readings.turns === 'text') return payload
  const { event, turns, ...others } = payload
  return {
    ...(field !== 'absent' && { [field]: event }),
    ...others,
    ...(Array.isArray(turns) && { turns: (turns as Turn[]).map(turn => shapeTurn(turn, readings.turns)) }),
  }
}

/** `messages` is the vendor's own shape; the others are those of models and their libraries. */
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
