// The fields that identify the contact of a conversation, lead or client. Fields of staff are none of them: who forgets a
// customer must not lose the conversations of everybody whom the same person has served.
import { emailIdentifiers, type Forgotten, phoneIdentifiers, userIdentifiers } from '../core/identifiers.ts'
import { isObject } from './inspection/inspect.ts'

type Kind = 'email' | 'phone' | 'user'

/** Fields of records and of events, by path. */
const FIELDS: Readonly<Record<string, Kind>> = {
  userEmail: 'email',
  userPhone: 'phone',
  userID: 'user',
  contactIdentityId: 'user',
  'ext.callerPhoneNumber': 'phone',
  'ext.calleePhoneNumber': 'phone',
  'vapi.callerPhoneNumber': 'phone',
  'vapi.calleePhoneNumber': 'phone',
  leadEmail: 'email',
  leadPhone: 'phone',
  customerEmail: 'email',
  customerPhone: 'phone',
  clientEmail: 'email',
  from: 'user',
}

/** The same in the warehouse: columns by table. */
export const CONTACT_COLUMNS: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  conversations: {
    user_email: 'email',
    user_phone: 'phone',
    user_id: 'user',
    contact_identity_id: 'user',
    ext_caller_phone_number: 'phone',
    ext_callee_phone_number: 'phone',
  },
  leads: { lead_email: 'email', lead_phone: 'phone' },
  chat_delegations: { customer_email: 'email', customer_phone: 'phone' },
  messages_received: { message_from: 'user' },
  clients: { client_email: 'email' },
}

/** Returns the identifiers of a value of that kind. */
export function identifiersOf(kind: Kind, value: unknown, countries: readonly string[]): string[] {
  if (kind === 'email') return emailIdentifiers(value)
  return kind === 'phone' ? phoneIdentifiers(value, countries) : userIdentifiers(value, countries)
}

const valueAt = (record: Readonly<Record<string, unknown>>, path: string): unknown => {
  const [first, second] = path.split('.') as [string, string?]
  const value = record[first]
  return second === undefined ? value : isObject(value) ? value[second] : undefined
}

const names = Object.entries(FIELDS)

/** True if a record or an event's payload is about a forgotten person, or about a forgotten conversation. */
export function isForgotten(
  forgotten: Forgotten,
  about: { workspaceId: string; agentId: string | null },
  record: unknown,
): boolean {
  if (!isObject(record)) return false
  const id = record.ID ?? record.convoId
  if (id != null && forgotten.hasConversation({ ...about, id: String(id) })) return true
  const own = names.some(([path, kind]) =>
    identifiersOf(kind, valueAt(record, path), forgotten.countries).some(forgotten.hasIdentifier),
  )
  return own || isForgotten(forgotten, about, record.lightConvoData)
}
