// The types of events (API document, section 6.3), and who sends them (section 6.2).

interface EventTypeFacts {
  /** Agents of the platform `vf` send it too; undefined: no agent sends it. */
  vf?: boolean
}

/** Which types `vf` agents send is not documented, beyond two that they do not; chats are not assigned and faults not reported there. */
const TABLE = {
  agent_created: { vf: true },
  agent_updated: { vf: true },
  agent_deleted: { vf: true },
  message_received: { vf: true },
  conversation_updated: { vf: true },
  organisation_created: {},
  organisation_updated: {},
  organisation_deleted: {},
  client_created: {},
  client_updated: {},
  client_deleted: {},
  lead_captured: { vf: false },
  form_submitted: { vf: false },
  chat_delegated: { vf: false },
  bug_reported: { vf: false },
  webhook_test: {},
} as const satisfies Record<string, EventTypeFacts>

export type EventName = keyof typeof TABLE

export const EVENT_NAMES = Object.keys(TABLE) as EventName[]

/** Whether agents of that platform send events of the type. */
export const isSentBy = (platform: unknown, name: EventName): boolean => {
  const { vf = true }: EventTypeFacts = TABLE[name]
  return platform !== 'vf' || vf
}
