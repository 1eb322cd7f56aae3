// Recognises the events of forgotten people.
import { isForgotten } from '../../catalog/contacts.ts'
import { UNREADABLE_EVENT } from '../../catalog/events/event-types.ts'
import { isObject } from '../../catalog/inspection/inspect.ts'
import type { Forgotten } from '../../core/identifiers.ts'
import { parseBody } from '../../json/body.ts'
import type { SpoolEvent } from '../../spool/event-line.ts'

/** An event's agent and conversation, if it names both. */
const conversationOf = ({ agentId, convoId }: Readonly<Record<string, unknown>>) =>
  agentId == null || convoId == null ? null : { agentId: String(agentId), id: String(convoId) }

/** Returns whether an event is about a forgotten person, and the conversation that only its contact identifies. */
export function judgeEvent(
  forgotten: Forgotten,
  { workspaceId, payload }: SpoolEvent,
): { isForgotten: boolean; begun: { agentId: string; id: string } | null } {
  const value = parseBody(Buffer.from(payload))?.value
  const agentId = isObject(value) && value.agentId != null ? String(value.agentId) : null
  if (!isObject(value) || !isForgotten(forgotten, { workspaceId, agentId }, value))
    return { isForgotten: false, begun: null }
  const conversation = conversationOf(value)
  const isKnown = conversation === null || forgotten.hasConversation({ workspaceId, ...conversation })
  return { isForgotten: true, begun: isKnown ? null : conversation }
}

/**
 * True if an erasure removes the event, or an unreadable line (null): it is about a forgotten person, or nobody can read whom it
 * is about. Adds the conversation that only its contact identifies to `begun`.
 */
export function isErasedEvent(
  forgotten: Forgotten,
  event: SpoolEvent | null,
  begun: { agentId: string; id: string }[] = [],
): boolean {
  if (event === null || event.type === UNREADABLE_EVENT) return true
  const judged = judgeEvent(forgotten, event)
  if (judged.begun) begun.push(judged.begun)
  return judged.isForgotten
}
