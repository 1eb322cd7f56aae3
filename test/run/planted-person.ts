// A person who is planted in every text of some conversations of all agents, and in events of every type. Contact fields are
// in many spellings; each conversation has one of the person's identifiers, and only some have several.
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { EVENT_TYPES } from '../../src/catalog/events/event-types.ts'
import { isObject } from '../../src/catalog/inspection/inspect.ts'
import type { Fields } from '../../src/catalog/shape.ts'
import { MINUTE } from '../../src/core/time.ts'
import { CANARY_PHONE, canary, plantedFields, said } from '../publish/canaries.ts'

type Document = Record<string, unknown>

/** What a request to forget the person names. */
export const EMAIL = 'kanarienvogel.person.vk@example.org'

const USER = canary('user')
const IDENTITY = canary('identity')

/** The contact of a conversation, in the order in which the person's conversations are planted. */
const CONTACTS: readonly Document[] = [
  { userEmail: EMAIL, userPhone: CANARY_PHONE, userID: USER, contactIdentityId: IDENTITY },
  { userEmail: 'Kanarienvogel.Person.VK@EXAMPLE.ORG' },
  { userPhone: '0049 (0)170 / 555-0199' },
  { userEmail: `Frau Größe <${EMAIL.toUpperCase()}>` },
  { contactIdentityId: IDENTITY, userName: 'Jürgen “Jü” Größe 🐦' },
  { userID: CANARY_PHONE.replaceAll(' ', '') },
  { userPhone: '+49.170.555.0199', userEmail: null },
  { userID: USER, userEmail: '', userPhone: null },
]

/** Objects whose keys are no fields. */
const FREE = new Set(['capturedVariables', 'funnelExtractedData', 'usagePerModel', 'metadata', 'formData'])
/** Texts that decide how an event or a record is read. */
const KEPT = new Set([
  'event',
  'agentId',
  'operation',
  'channel',
  'userPlatform',
  'state',
  'region',
  'sessionId',
  'role',
])

/** Returns a value with a canary in every text, and in keys that are no names of fields. */
function marked(value: unknown, place: string, isFree = false): unknown {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\d|^\d{10,13}$/.test(value) ? value : said(place)
  if (Array.isArray(value)) return value.map(element => marked(element, place))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    const within = `${place}.${key}`
    return [isFree ? canary(`${within}.name`) : key, KEPT.has(key) ? inner : marked(inner, within, FREE.has(key))]
  })
  return Object.fromEntries(entries)
}

const defined = (document: Document): Document =>
  Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined))

/** Returns a record or payload with texts that its fields declare, beside its numbers and times. */
const filled = (fields: Fields, original: Document, place: string): Document => ({
  ...original,
  ...defined(plantedFields(fields, place)),
})

/** Returns the person's id of a conversation. */
export const idOf = (id: string): string => `${canary('conversation')}-${id}`

/** Returns the vendor's id. */
export const vendorsId = (id: string): string => id.replace(`${canary('conversation')}-`, '')

/** Returns a conversation's record as one of the person: with texts in all fields, or only in those that have some, which needs no coercion. */
export function plantedRecord(record: Document, index: number, isFilled: boolean): Document {
  const place = `c${index}`
  const contact = { userEmail: null, userPhone: null, ...CONTACTS[index % CONTACTS.length] }
  const own = isFilled ? filled(conversation.fields, record, place) : (marked(record, place) as Document)
  // With dots in the name of a field, the page needs coercion.
  const field = isFilled ? canary(`${place}.field`) : canary(`${place}.field`).replaceAll('.', '_')
  const { ext, ...rest }: Document = { ...own, [field]: said(`${place}.value`), ...contact }
  const named = { ...rest, ID: idOf(String(record.ID)) }
  // Some records name the group of a call `vapi`.
  return ext === undefined ? named : { ...named, [index % 4 === 0 ? 'vapi' : 'ext']: ext }
}

/** Returns the event of a conversation as one of the person. */
export function plantedPayload(payload: Document, index: number): Document {
  const own = marked(payload, `e${index}.${payload.event}`) as Document
  const { lightConvoData: light } = payload
  return {
    ...own,
    convoId: idOf(String(payload.convoId)),
    ...(isObject(light) && { lightConvoData: plantedRecord(light, index, index % 2 === 0) }),
  }
}

const WITHOUT_CONVERSATION: readonly Document[] = [
  { event: 'lead_captured', leadEmail: 'KANARIENVOGEL.person.vk@example.org' },
  { event: 'lead_captured', leadPhone: '0049 170 555 0199', leadEmail: '' },
  { event: 'client_created', clientEmail: EMAIL, clientId: canary('client'), operation: 'created' },
  { event: 'client_created', clientEmail: EMAIL, clientId: 'client_of_two', operation: 'created' },
  { event: 'chat_delegated', customerPhone: CANARY_PHONE, operation: 'delegated' },
]

/** The client, whose address is somebody else's from then on. */
const OF_ANOTHER = {
  ...{ event: 'client_updated', clientId: 'client_of_two', clientEmail: 'other@example.org', clientName: 'Other' },
  ...{ organisationId: 'org_beta', organisationName: 'Beta', operation: 'updated' },
}

/** Returns events about the person: one of each type that names a conversation, and some that name only the person. */
export function payloadsAbout({ agentId, id, nowMs }: { agentId: string; id: string; nowMs: number }): Document[] {
  const common = { createdAt: nowMs, agentId }
  const ofType = (name: unknown): Fields => EVENT_TYPES.find(type => type.name === name)!.fields
  const named = EVENT_TYPES.filter(({ fields }) => 'convoId' in fields).map(({ name, fields }) => ({
    ...filled(fields, {}, `t.${name}`),
    ...{ ...common, event: name, convoId: idOf(id) },
  }))
  const others = WITHOUT_CONVERSATION.map((given, index) => ({
    ...filled(ofType(given.event), {}, `n${index}.${given.event}`),
    ...{ ...common, createdAt: nowMs + index, convoId: undefined, ...given },
  }))
  return [...named, ...others.map(defined), { ...OF_ANOTHER, createdAt: nowMs + MINUTE }]
}
