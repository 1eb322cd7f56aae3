// Recognises the events of forgotten people.
import { isForgotten } from '../../catalog/contacts.ts'
import { UNREADABLE_EVENT } from '../../catalog/events/event-types.ts'
import { isObject } from '../../catalog/inspection/inspect.ts'
import type { Forgotten } from '../../core/identifiers.ts'
import { parseBody } from '../../json/body.ts'
import type { SpoolEvent } from '../../spool/event-line.ts'

/** True if an event is about a forgotten person or conversation. */
export function isForgottenEvent(forgotten: Forgotten, { workspaceId, payload }: SpoolEvent): boolean {
  const value = parseBody(Buffer.from(payload))?.value
  if (!isObject(value)) return false
  return isForgotten(forgotten, { workspaceId, agentId: value.agentId == null ? null : String(value.agentId) }, value)
}

/** True if an erasure removes the event: it is about a forgotten person, or nobody can read whom it is about. */
export const isErasedEvent = (forgotten: Forgotten, event: SpoolEvent): boolean =>
  event.type === UNREADABLE_EVENT || isForgottenEvent(forgotten, event)
