// Finds everything that identifies a person, from what a request names: the conversations of an email address, a telephone
// number or a user id, and the other identifiers of the same contact in them.
import { CONTACT_COLUMNS, identifiersOf } from '../catalog/contacts.ts'
import { quoteText } from '../catalog/layout.ts'
import { ConvohouseError } from '../core/errors.ts'
import { emailIdentifiers, phoneIdentifiers, userIdentifiers } from '../core/identifiers.ts'
import { forgottenAs, type Remembered } from '../landing/tombstones.ts'
import type { Writer } from '../warehouse/connection.ts'
import { forgottenConversations } from '../warehouse/maintenance/forgotten-records.ts'

type Reader = Pick<Writer, 'rows'>

/** What a request names, as it was written. */
export interface Named {
  email?: string
  phone?: string
  user?: string
  /** `AGENT/ID`. */
  conversation?: string
}

/** A value of more conversations than this is shared: it does not identify one person. */
export const MOST_CONVERSATIONS = 20

export interface FoundPeople extends Remembered {
  /** Identifiers in conversations of the people that are shared, and were not followed. */
  shared: readonly string[]
}

const refused = (what: string, hint: string): ConvohouseError => new ConvohouseError('FORGET_REFUSED', { what, hint })

/** Returns the identifiers that a request names. @throws FORGET_REFUSED for values that identify nobody */
function identifiersNamed(named: Named, countries: readonly string[]): string[] {
  const { email, phone, user } = named
  const given: [flag: string, value: string | undefined, identifiers: (value: string) => string[]][] = [
    ['email address', email, emailIdentifiers],
    // Only the first reading: a number that is written with its country is no other number.
    ['telephone number', phone, value => phoneIdentifiers(value, countries).slice(0, 1)],
    ['user id', user, value => userIdentifiers(value, countries)],
  ]
  return given.flatMap(([what, value, read]) => {
    if (value === undefined) return []
    const identifiers = read(value)
    if (identifiers.length > 0) return identifiers
    throw refused(
      `${JSON.stringify(value)} is no ${what} of one person: it is empty, incomplete or a placeholder. Nothing was erased.`,
      'Give the whole value, a telephone number with its country (`+49 …`, or `--country DE`); or name the conversations with --conversation AGENT/ID.',
    )
  })
}

/** A conversation and its workspace. */
type Found = Remembered['conversations'][number]

async function conversationsOf(
  reader: Reader,
  workspaceIds: readonly string[],
  of: Pick<Remembered, 'identifiers' | 'countries'>,
): Promise<Found[]> {
  const forgotten = forgottenAs({ ...of, conversations: [] })
  const found: Found[] = []
  for (const workspaceId of workspaceIds)
    for (const [agentId, id] of await forgottenConversations(reader, workspaceId, forgotten))
      found.push({ workspaceId, agentId, id })
  return found
}

const keyOf = ({ workspaceId, agentId, id }: Found): string => JSON.stringify([workspaceId, agentId, id])

/** Columns whose values are followed. Of the two numbers of a call one is the line of the business, and it is not told which. */
const FOLLOWED = Object.entries(CONTACT_COLUMNS.conversations!).filter(([column]) => !column.startsWith('ext_'))

/** Returns the identifiers of the contacts of these conversations. */
async function identifiersIn({ rows }: Reader, conversations: readonly Found[], countries: readonly string[]) {
  if (conversations.length === 0) return []
  const keys = conversations.map(
    ({ workspaceId, agentId, id }) => `(${[workspaceId, agentId, id].map(quoteText).join(', ')})`,
  )
  const found = await rows<Record<string, string | null>>(
    `SELECT ${FOLLOWED.map(([column]) => column).join(', ')} FROM conversations WHERE (workspace_id, agent_id, conversation_id) IN (${keys.join(', ')})`,
  )
  const all = found.flatMap(row => FOLLOWED.flatMap(([column, kind]) => identifiersOf(kind, row[column], countries)))
  return [...new Set(all)]
}

/** Parses `AGENT/ID`, and finds the workspaces that have it. @throws FORGET_REFUSED if none has */
async function conversationsNamed({ rows }: Reader, workspaceIds: readonly string[], text: string): Promise<Found[]> {
  const slash = text.indexOf('/')
  const [agentId, id] = [text.slice(0, slash), text.slice(slash + 1)]
  const found = await rows<{ workspaceId: string }>(
    `SELECT workspace_id AS "workspaceId" FROM conversations WHERE agent_id = ${quoteText(agentId)} AND conversation_id = ${quoteText(id)}
     AND workspace_id IN (${workspaceIds.map(quoteText).join(', ')})`,
  )
  if (slash > 0 && found.length > 0) return found.map(({ workspaceId }) => ({ workspaceId, agentId, id }))
  throw refused(
    `No conversation ${JSON.stringify(text)} is stored. Nothing was erased.`,
    'Write it as AGENT/ID: `convohouse query "SELECT agent_id, conversation_id FROM conversations"` shows them.',
  )
}

/**
 * Finds the people whom requests name. Conversations that are named themselves stand alone: their contacts' other
 * identifiers are not followed. @throws FORGET_REFUSED for a value of nobody, or of more than twenty conversations
 */
export async function findPeople(
  reader: Reader,
  options: { workspaceIds: readonly string[]; requests: readonly Named[]; countries: readonly string[] },
): Promise<FoundPeople> {
  const { workspaceIds, requests, countries } = options
  const followed = new Set<string>()
  const shared = new Set<string>()
  const conversations = new Map<string, Found>()
  for (const named of requests) {
    if (named.conversation === undefined) continue
    for (const found of await conversationsNamed(reader, workspaceIds, named.conversation))
      conversations.set(keyOf(found), found)
  }
  const given = requests.flatMap(named => identifiersNamed(named, countries))
  for (let next = [...new Set(given)]; next.length > 0; ) {
    const reached: Found[] = []
    for (const identifier of next) {
      const found = await conversationsOf(reader, workspaceIds, { identifiers: [identifier], countries })
      if (found.length <= MOST_CONVERSATIONS) {
        followed.add(identifier)
        reached.push(...found.filter(one => !conversations.has(keyOf(one))))
      } else if (given.includes(identifier))
        throw refused(
          `${identifier} is in ${found.length} conversations, more than one person has. Nothing was erased.`,
          'Name the conversations with --conversation AGENT/ID, or in a file (--file).',
        )
      else shared.add(identifier)
    }
    for (const one of reached) conversations.set(keyOf(one), one)
    const others = await identifiersIn(reader, reached, countries)
    next = others.filter(identifier => !followed.has(identifier) && !shared.has(identifier))
  }
  return { identifiers: [...followed], conversations: [...conversations.values()], countries, shared: [...shared] }
}
