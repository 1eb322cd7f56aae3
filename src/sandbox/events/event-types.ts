// The types of webhook events (API document, section 6.3), and what the sandbox knows about one event.

/** Event names in the document's order. An event's random draws depend on its position here. */
export const EVENT_NAMES = [
  'agent_created',
  'agent_updated',
  'agent_deleted',
  'message_received',
  'conversation_updated',
  'organisation_created',
  'organisation_updated',
  'organisation_deleted',
  'client_created',
  'client_updated',
  'client_deleted',
  'lead_captured',
  'form_submitted',
  'chat_delegated',
  'bug_reported',
] as const

export type EventName = (typeof EVENT_NAMES)[number]

export type Payload = Record<string, unknown>

export interface WorldEvent {
  type: EventName
  /** `createdAt` of the event, ms. */
  createdMs: number
  agentId: string | undefined
  convoId: string | undefined
  /** Everything that is sent except the secret. The payload is built each time it is read. */
  readonly payload: Payload
}

/**
 * Section 6.2: `vf` agents never send the first two, and only a subset of the other types. The sandbox also omits the
 * last two, because its `vf` agents have neither assignments nor bug reports.
 */
const NOT_OF_VF: ReadonlySet<EventName> = new Set(['lead_captured', 'form_submitted', 'chat_delegated', 'bug_reported'])

export const isSentBy = (platform: unknown, name: EventName): boolean => platform !== 'vf' || !NOT_OF_VF.has(name)
