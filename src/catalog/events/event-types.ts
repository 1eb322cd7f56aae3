// Every type of webhook event (section 6.3), one declaration each: its name, its own fields, the marks that identify it
// if no field names the type, and its effect on the warehouse. Undeclared types are kept as `unknown`.
import { any, entries, type Fields, lift, type PiiClass, text, time } from '../shape.ts'

/** Identifies payloads of one type: they have all fields of `has`, none of `lacks` and, if given, this `operation`. */
export interface Mark {
  has?: readonly string[]
  lacks?: readonly string[]
  operation?: string
}

/** The resource that an event reports: its `table`, the event field with its id (`id`), and the fields for `columns`. */
export interface ReportedResource {
  table: 'agents' | 'organizations' | 'clients'
  id: string
  columns: Readonly<Record<string, string>>
  isDeleted: boolean
  /** The parent whose deletion also deletes the resource: the row of `table` whose id is in `column`. */
  goesWith?: { table: ReportedResource['table']; column: string }
}

export interface EventType {
  /** The vendor's name. */
  name: string
  about: string
  /** Fields besides the common ones. */
  fields: Fields
  /** Marks of the type. A payload belongs to it if it shows one of them and no mark of another type. */
  marks: readonly Mark[]
  /** Its own table, with a row per event. */
  table?: string
  /** True if the event changes the conversation's record, so that the stored copy is stale. */
  outdates?: boolean
  /** True if the event's `lightConvoData`, `turns` and `messagesHistory` are applied to the conversation. */
  reportsConversation?: boolean
  reportedResource?: ReportedResource
}

/** Fields of every event. */
export const COMMON_EVENT_FIELDS: Fields = { createdAt: time('When it happened') }

/** The field with the workspace's secret. It is never written to disk. */
export const EVENT_SECRET = 'workspaceSecret'

const identity = { pii: 'identity' as PiiClass }
const content = { pii: 'content' as PiiClass }
const staff = { pii: 'staff' as PiiClass }

const operation = text('What was done', { pii: 'word' })
const channel = text('Channel', { channel: 'lower', pii: 'word' })
const agent: Fields = { agentId: text('Id of the agent'), agentName: text('Name of the agent') }
const conversation: Fields = {
  ...agent,
  convoId: text('Id of the conversation', { column: 'conversation_id' }),
  channel,
}
const organisation: Fields = {
  organisationId: text('Id of the organization', { column: 'organization_id' }),
  organisationName: text('Name of the organization', { column: 'organization_name' }),
}

const formAnswers = entries('form_submission_answers', 'question', 'One row for each answer of a form', 'label', [
  lift('answer', 'text', ['value', 'answer'], 'The answer, as text', { orSelf: 'whole', pii: 'content' }),
])

const CHANGES = ['created', 'updated', 'deleted'] as const
type Change = (typeof CHANGES)[number]

/** Declares the three event types of a workspace resource: created, updated and deleted. */
const changes = <N extends string>(
  resource: N,
  about: string,
  {
    fields,
    mark,
    reportedResource,
  }: { fields: Fields; mark: Mark; reportedResource: Omit<ReportedResource, 'isDeleted'> },
): (EventType & { name: `${N}_${Change}` })[] =>
  CHANGES.map(change => ({
    name: `${resource}_${change}` as const,
    about: `${about} was ${change}`,
    fields: { ...fields, operation },
    marks: [{ ...mark, operation: change }],
    reportedResource: { ...reportedResource, isDeleted: change === 'deleted' },
  }))

const own = (...keys: string[]): Mark[] => keys.map(key => ({ has: [key] }))

const TYPES = [
  ...changes('agent', 'An agent', {
    fields: { ...agent, agentPlatform: text('Platform: vg or vf') },
    mark: { has: ['agentId'], lacks: ['convoId'] },
    reportedResource: {
      table: 'agents',
      id: 'agentId',
      columns: { title: 'agentName', agent_platform: 'agentPlatform' },
    },
  }),
  {
    name: 'message_received',
    about: 'A contact has written a message',
    fields: {
      ...conversation,
      messageContent: text('The message', content),
      messageType: text('Kind of message', { pii: 'word' }),
      from: text('Who wrote it', { ...identity, column: 'message_from' }),
    },
    marks: own('messageContent', 'messageType'),
    table: 'messages_received',
    outdates: true,
  },
  {
    name: 'conversation_updated',
    about: 'A conversation was persisted',
    fields: {
      ...conversation,
      sessionId: text('Session of the conversation'),
      region: text('Region: eu or na'),
      lightConvoData: any('A part of the conversation record', content),
      turns: any('The whole conversation, turn by turn', content),
      messagesHistory: any('Messages as the model saw them', content),
      operation,
    },
    marks: own('lightConvoData', 'turns', 'messagesHistory', 'sessionId'),
    outdates: true,
    reportsConversation: true,
  },
  ...changes('organisation', 'An organization', {
    fields: organisation,
    mark: { has: ['organisationId'], lacks: ['clientId', 'convoId', 'agentId'] },
    reportedResource: { table: 'organizations', id: 'organisationId', columns: { name: 'organisationName' } },
  }),
  ...changes('client', 'A client of an organization', {
    fields: {
      ...organisation,
      clientId: text('Id of the client'),
      clientName: text('Name of the client', identity),
      clientEmail: text('Email address of the client', identity),
    },
    mark: { has: ['clientId'] },
    reportedResource: {
      table: 'clients',
      id: 'clientId',
      columns: {
        organization_id: 'organisationId',
        organization_name: 'organisationName',
        client_name: 'clientName',
        client_email: 'clientEmail',
      },
      goesWith: { table: 'organizations', column: 'organization_id' },
    },
  }),
  {
    name: 'lead_captured',
    about: 'A contact has left a name or an address',
    fields: {
      ...agent,
      leadName: text('Name', identity),
      leadEmail: text('Email address', identity),
      leadPhone: text('Telephone number', identity),
      channel,
      operation,
    },
    marks: [...own('leadName', 'leadEmail', 'leadPhone'), { operation: 'captured' }],
    table: 'leads',
  },
  {
    name: 'form_submitted',
    about: 'A contact has filled in a form',
    fields: {
      ...conversation,
      formType: text('Kind of form: ui_engine_form or ui_engine_input', { pii: 'word' }),
      formData: any('Answers by question, as sent', { ...content, unnest: formAnswers }),
    },
    marks: own('formType', 'formData'),
    table: 'form_submissions',
    outdates: true,
  },
  {
    name: 'chat_delegated',
    about: 'A chat was assigned to a person',
    fields: {
      ...conversation,
      assignedToUserId: text('Id of the assignee', staff),
      assignedToUserName: text('Name of the assignee', staff),
      assignedToUserEmail: text('Email address of the assignee', staff),
      delegatedByUserId: text('Id of who assigned it', staff),
      delegatedByUserName: text('Name of who assigned it', staff),
      customerName: text('Name of the contact', identity),
      customerEmail: text('Email address of the contact', identity),
      customerPhone: text('Telephone number of the contact', identity),
      operation,
    },
    marks: [...own('assignedToUserId', 'delegatedByUserId'), { operation: 'delegated' }],
    table: 'chat_delegations',
    outdates: true,
  },
  {
    name: 'bug_reported',
    about: 'A person has reported a fault of an agent',
    fields: {
      ...conversation,
      bugDescription: text('What is wrong', content),
      imageUrl: text('Address of a screenshot', content),
      reportedByUserId: text('Id of who reported it', staff),
      reportedByUserName: text('Name of who reported it', staff),
      reportedByUserEmail: text('Email address of who reported it', staff),
      operation,
    },
    marks: [...own('bugDescription', 'reportedByUserId'), { operation: 'reported' }],
    table: 'bug_reports',
  },
  {
    name: 'webhook_test',
    about: 'Sent to see whether the address is reachable',
    fields: { message: text('What it says', content) },
    marks: [{ has: ['message'], lacks: ['agentId', 'convoId', 'operation'] }],
  },
] as const satisfies readonly EventType[]

export type EventName = (typeof TYPES)[number]['name']

export const EVENT_TYPES: readonly (EventType & { name: EventName })[] = TYPES

/** Type of an event that cannot be determined. */
export const UNKNOWN_EVENT = 'unknown'

/** Type of an event that cannot be parsed. Its payload has only its `text`. */
export const UNREADABLE_EVENT = 'unreadable'

/** Fields that may name the type; the first one with a known type counts. */
const NAMING_FIELDS = ['event', 'eventType', 'type', 'name'] as const

type Payload = Readonly<Record<string, unknown>>

const NAMES: ReadonlyMap<string, EventName> = new Map(EVENT_TYPES.map(({ name }) => [name, name]))

const holds = (payload: Payload, key: string): boolean => Object.hasOwn(payload, key) && payload[key] != null

const shows = (payload: Payload, { has = [], lacks = [], operation }: Mark): boolean =>
  has.every(key => holds(payload, key)) &&
  !lacks.some(key => holds(payload, key)) &&
  (operation === undefined || payload.operation === operation)

/** Returns the type whose marks the payload shows, if it is the only one. */
function inferred(payload: Payload): EventName | undefined {
  const fitting = EVENT_TYPES.filter(({ marks }) => marks.some(mark => shows(payload, mark)))
  return fitting.length === 1 ? fitting[0]!.name : undefined
}

/** Returns the known type that the field names, if any. */
function namedIn(payload: Payload, field: string): EventName | undefined {
  const named = payload[field]
  return typeof named === 'string' && Object.hasOwn(payload, field) ? NAMES.get(named) : undefined
}

/** Returns the payload without the fields that name its type: they are known, so they must not count as drift. */
export const withoutTypeName = (payload: Payload): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(payload).filter(([key]) => !NAMING_FIELDS.some(field => field === key && namedIn(payload, key))),
  )

/** Returns the type that the payload names; else the only type whose marks it shows; else `unknown`. */
export function eventTypeOf(payload: Payload): EventName | typeof UNKNOWN_EVENT {
  for (const field of NAMING_FIELDS) {
    const known = namedIn(payload, field)
    if (known !== undefined) return known
  }
  return inferred(payload) ?? UNKNOWN_EVENT
}
