// Finds the records of forgotten people in the tables, as `eraseRecords` expects them.
import { CONTACT_COLUMNS, identifiersOf } from '../../catalog/contacts.ts'
import { UNREADABLE_EVENT } from '../../catalog/events/event-types.ts'
import { quoteText } from '../../catalog/layout.ts'
import type { Forgotten } from '../../core/identifiers.ts'
import type { Writer } from '../connection.ts'
import type { RecordKey } from './erase-records.ts'

type Rows = Pick<Writer, 'rows'>

/** Returns the values in a column by which a forgotten person is recognised. Each different value is looked at once. */
async function valuesIn({ rows }: Rows, forgotten: Forgotten, of: { table: string; column: string; here: string }) {
  const { table, column, here } = of
  const kind = CONTACT_COLUMNS[table]![column]!
  const found = await rows<{ value: string }>(
    `SELECT DISTINCT ${column} AS value FROM ${table} WHERE ${here} AND ${column} IS NOT NULL AND ${column} <> ''`,
  )
  return found
    .map(({ value }) => value)
    .filter(value => identifiersOf(kind, value, forgotten.countries).some(forgotten.hasIdentifier))
}

const oneOf = (column: string, values: readonly string[]): string =>
  values.length === 0 ? 'false' : `${column} IN (${values.map(quoteText).join(', ')})`

/** Returns the SQL condition for the rows of a table that are about forgotten people. */
export async function aboutForgotten(
  reader: Rows,
  forgotten: Forgotten,
  table: string,
  here = 'true',
): Promise<string> {
  const conditions: string[] = []
  for (const column of Object.keys(CONTACT_COLUMNS[table]!))
    conditions.push(oneOf(column, await valuesIn(reader, forgotten, { table, column, here })))
  return `(${conditions.join(' OR ')})`
}

/** An agent's id and a conversation's. */
export type ConversationId = readonly [agentId: string, id: string]

/** Tables of events that name a contact and a conversation. Its row may have no field of the contact, or not be exported yet. */
const NAMING_TABLES = Object.keys(CONTACT_COLUMNS).filter(
  table => !['conversations', 'leads', 'clients'].includes(table),
)

/** Returns the conversations of forgotten people in a workspace, in any table. */
export async function forgottenConversations(
  reader: Rows,
  workspaceId: string,
  forgotten: Forgotten,
): Promise<ConversationId[]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const about = await aboutForgotten(reader, forgotten, 'conversations', here)
  const found = await reader.rows<{ agentId: string; id: string; isAbout: boolean }>(
    `SELECT agent_id AS "agentId", conversation_id AS id, coalesce(${about}, false) AS "isAbout" FROM conversations
     WHERE ${here}${forgotten.namesConversations ? '' : ` AND ${about}`}`,
  )
  const ids = found
    .filter(({ agentId, id, isAbout }) => isAbout || forgotten.hasConversation({ workspaceId, agentId, id }))
    .map(({ agentId, id }): ConversationId => [agentId, id])
  for (const table of NAMING_TABLES) {
    const named = await reader.rows<{ agentId: string; id: string }>(
      `SELECT DISTINCT agent_id AS "agentId", conversation_id AS id FROM ${table}
       WHERE ${here} AND agent_id IS NOT NULL AND conversation_id IS NOT NULL AND ${await aboutForgotten(reader, forgotten, table, here)}`,
    )
    ids.push(...named.map(({ agentId, id }): ConversationId => [agentId, id]))
  }
  return [...new Map(ids.map(key => [JSON.stringify(key), key])).values()]
}

/** Returns the keys of everything about forgotten people in a workspace, and of events that nobody can read. */
export async function forgottenRecords(reader: Rows, workspaceId: string, forgotten: Forgotten): Promise<RecordKey[]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const ids = async (sql: string) => (await reader.rows<{ id: string }>(sql)).map(({ id }) => id)
  const conversations = await forgottenConversations(reader, workspaceId, forgotten)
  const about = async (table: string) => `${here} AND ${await aboutForgotten(reader, forgotten, table, here)}`
  const clients = await ids(`SELECT client_id AS id FROM clients WHERE ${await about('clients')}`)
  const events = new Set([
    ...(await ids(
      `SELECT event_id AS id FROM webhook_events WHERE ${here} AND (type = ${quoteText(UNREADABLE_EVENT)} OR ${oneOf('client_id', clients)})`,
    )),
    ...(await eventsOfForgotten(reader, workspaceId, forgotten)),
  ])
  for (const table of ['leads', ...NAMING_TABLES])
    for (const id of await ids(`SELECT event_id AS id FROM ${table} WHERE ${await about(table)}`)) events.add(id)
  return [
    ...conversations.map(key => ({ table: 'conversations', key })),
    ...clients.map(id => ({ table: 'clients', key: [id] })),
    ...[...events].map(id => ({ table: 'webhook_events', key: [id] })),
  ]
}

/** Returns the events that name a forgotten conversation, which no other table may have. */
async function eventsOfForgotten({ rows }: Rows, workspaceId: string, forgotten: Forgotten): Promise<string[]> {
  if (!forgotten.namesConversations) return []
  const found = await rows<{ agentId: string | null; id: string; events: string[] }>(
    `SELECT agent_id AS "agentId", conversation_id AS id, list(event_id) AS events FROM webhook_events
     WHERE workspace_id = ${quoteText(workspaceId)} AND conversation_id IS NOT NULL GROUP BY ALL`,
  )
  return found
    .filter(({ agentId, id }) => forgotten.hasConversation({ workspaceId, agentId, id }))
    .flatMap(({ events }) => events)
}
