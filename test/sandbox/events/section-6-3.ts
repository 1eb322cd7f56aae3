// The fields of each type of event (API document, section 6.3), in addition to `event`, `createdAt` and the secret.
import type { EventName } from '../../../src/catalog/events/event-types.ts'

type FieldType = 'string' | 'object' | 'array'

interface Fields {
  /** Field names; `?` marks an optional field. Fields are strings, unless `others` states another type. */
  names: string
  others?: Record<string, FieldType>
  /** Allowed values of enumerated fields. */
  values?: Record<string, readonly string[]>
}

const ANY_CHANNEL = ['voice', 'ext', 'web-chat', 'whatsapp', 'instagram', 'gb-chat', 'telephony', 'webchat']
const AGENT = 'agentId agentName?'

const changes = (resource: string, names: string) =>
  ['created', 'updated', 'deleted'].map(operation => [
    `${resource}_${operation}`,
    { names: `${names} operation`, values: { operation: [operation], agentPlatform: ['vg', 'vf'] } },
  ])

export const SECTION_6_3: Record<EventName, Fields> = {
  ...Object.fromEntries(changes('agent', `${AGENT} agentPlatform?`)),
  ...Object.fromEntries(changes('organisation', 'organisationId organisationName?')),
  ...Object.fromEntries(changes('client', 'organisationId organisationName? clientId clientName? clientEmail?')),
  message_received: {
    names: `${AGENT} convoId messageContent channel messageType? from?`,
    values: { channel: ['whatsapp', 'instagram', 'webchat'] },
  },
  conversation_updated: {
    names: `${AGENT} convoId sessionId? channel? region? lightConvoData turns messagesHistory? operation`,
    others: { lightConvoData: 'object', turns: 'array', messagesHistory: 'array' },
    values: { operation: ['updated'], region: ['eu', 'na'] },
  },
  lead_captured: {
    names: `${AGENT} leadName? leadEmail? leadPhone? channel operation`,
    values: { operation: ['captured'], channel: ANY_CHANNEL },
  },
  form_submitted: {
    names: `${AGENT} convoId formType formData channel`,
    others: { formData: 'object' },
    values: { formType: ['ui_engine_form', 'ui_engine_input'], channel: ANY_CHANNEL },
  },
  chat_delegated: {
    names: `${AGENT} convoId assignedToUserId assignedToUserName? assignedToUserEmail? delegatedByUserId? delegatedByUserName?
      customerName customerEmail customerPhone? channel operation`,
    values: { operation: ['delegated'], channel: ANY_CHANNEL },
  },
  bug_reported: {
    names: `${AGENT} convoId bugDescription imageUrl? reportedByUserId reportedByUserName reportedByUserEmail? channel operation`,
    values: { operation: ['reported'], channel: ANY_CHANNEL },
  },
  webhook_test: { names: 'message' },
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)

/** The deviations of a payload (serialized, without its secret) from the document. */
export function wrongOf(payload: Record<string, unknown>): string[] {
  const { event, createdAt, ...sent } = JSON.parse(JSON.stringify(payload)) as Record<string, unknown>
  const { names, others = {}, values = {} } = SECTION_6_3[event as EventName]
  const fields = names.trim().split(/\s+/)
  const known = new Set(fields.map(field => field.replace('?', '')))
  return [
    ...(Number.isInteger(createdAt) && Number(createdAt) > 1e12 ? [] : [`createdAt ${createdAt}`]),
    ...fields.filter(field => !field.endsWith('?') && !Object.hasOwn(sent, field)).map(field => `${field} is missing`),
    ...Object.entries(sent).flatMap(([field, value]) => {
      if (!known.has(field)) return [`${field} is not of ${event}`]
      if (typeOf(value) !== (others[field] ?? 'string')) return [`${field} is of type ${typeOf(value)}`]
      return values[field]?.includes(String(value)) === false ? [`${field} is ${value}`] : []
    }),
  ]
}
