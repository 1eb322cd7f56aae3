// Erases records: rows, child rows, and all other data about a conversation. Consumers of the change log learn of it by `delete`
// entries. Landing and spool still contain the pages and events: until these are erased there, `replay` would load them again.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { webhookEvent } from '../../catalog/events/event-records.ts'
import { quoteText } from '../../catalog/layout.ts'
import { isResumable, withoutIds } from '../../core/planning/id-windows.ts'
import type { WindowProgress } from '../../core/planning/windows.ts'
import { appendEntries, isLogging } from '../changes/log-changes.ts'
import {
  keyList,
  OBSERVATIONS,
  PUBLISHED_TABLES,
  type PublishedTable,
  partitionOf,
  publishedMart,
  publishedTable,
  sameKeys,
} from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { marts } from '../marts/declarations.ts'
import { hasMarts, refreshMartsWithin } from '../marts/refresh.ts'
import { builtModels, publishedModel } from '../models/stored-models.ts'

/** A record of a workspace. Keys omit the workspace's id: `{ table: 'conversations', key: [agentId, conversationId] }`. */
export interface RecordKey {
  /** Name of a record table, not of a child table. */
  table: string
  key: readonly string[]
}

export interface ErasedTable {
  table: string
  /** Number of deleted rows, without child rows. */
  rows: number
}

const { table: CONVERSATIONS } = conversation
const { table: EVENTS } = webhookEvent

const isFact = ({ key }: PublishedTable): boolean => key.at(-1)!.name === 'event_id'
const isOfConversation = ({ key }: PublishedTable): boolean => key.some(({ name }) => name === 'conversation_id')

const ownKeys = (table: string, columns: string): string =>
  `SELECT ${columns} FROM erased WHERE table_name = ${quoteText(table)}`

/** Returns the SELECT of the keys of a table's erased rows. */
function erasedKeys(published: PublishedTable, workspaceId: string): string {
  const { table, key } = published
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const names = key.map(({ name }) => name)
  const columns = names.slice(1).map((name, index) => `key[${index + 1}] AS ${name}`)
  const given = ownKeys(table, [`${quoteText(workspaceId)} AS workspace_id`, ...columns].join(', '))
  const stored = (where: string) => `SELECT DISTINCT ${names.join(', ')} FROM ${table} WHERE ${here} AND ${where}`
  const conversations = ownKeys(CONVERSATIONS, 'key[1], key[2]')
  if (table === OBSERVATIONS.table) return stored(`(agent_id, conversation_id) IN (${conversations})`)
  if (table === CONVERSATIONS) return given
  if (isOfConversation(published))
    return `${given} UNION ${stored(`(agent_id, conversation_id) IN (${conversations})`)}`
  if (isFact(published)) return `${given} UNION ${stored('event_id IN (FROM erased_events)')}`
  return given
}

/** Collects the ids of the given events and of the given conversations' events. An event may lack the agent's id. */
const collectEvents = (writer: Writer, workspaceId: string): Promise<void> =>
  writer.run(`CREATE OR REPLACE TEMP TABLE erased_events AS
    ${ownKeys(EVENTS, 'key[1] AS event_id')} UNION
    SELECT event_id FROM ${EVENTS} e JOIN erased c ON c.table_name = ${quoteText(CONVERSATIONS)}
      AND e.conversation_id = c.key[2] AND coalesce(e.agent_id, c.key[1]) = c.key[1]
    WHERE e.workspace_id = ${quoteText(workspaceId)}`)

/**
 * Replaces the log's entries of the erased keys (`erased_keys`) by `delete` entries. Consumers that have not applied the
 * earlier entries must still learn every partition that their copy may have the row in, so there is one entry per partition.
 */
async function logErasure(writer: Writer, published: PublishedTable): Promise<void> {
  if (!(await isLogging(writer))) return
  const { table } = published
  const keys = `SELECT ${keyList(published, 'k')} AS key FROM erased_keys k`
  const earlier = `table_name = ${quoteText(table)} AND key IN (${keys})`
  await writer.run(`CREATE OR REPLACE TEMP TABLE erased_entries AS SELECT *, 'delete' AS op FROM (
      SELECT ${keyList(published, 'k')} AS key, ${partitionOf(published, 't')} AS partition_before
      FROM erased_keys k LEFT JOIN ${table} t ON ${sameKeys(published, 'k', 't')}
      UNION SELECT key, partition_before FROM _changes WHERE ${earlier})`)
  // The first new entry must get a higher number than the deleted ones, so they are deleted afterwards.
  await appendEntries(writer, `SELECT ${quoteText(table)} AS table_name, * FROM erased_entries`)
  await writer.run(`DELETE FROM _changes WHERE op <> 'delete' AND ${earlier}`)
}

async function eraseFrom(writer: Writer, published: PublishedTable, workspaceId: string): Promise<ErasedTable> {
  const { table, children, key } = published
  await writer.run(`CREATE OR REPLACE TEMP TABLE erased_keys AS ${erasedKeys(published, workspaceId)}`)
  const [any] = await writer.rows('SELECT 1 FROM erased_keys LIMIT 1')
  if (!any) return { table, rows: 0 }
  await logErasure(writer, published)
  const names = key.map(({ name }) => name).join(', ')
  const where = `WHERE (${names}) IN (SELECT ${names} FROM erased_keys)`
  for (const child of children) await writer.run(`DELETE FROM ${child} ${where}`)
  const deleted = await writer.rows(`DELETE FROM ${table} ${where} RETURNING 1`)
  return { table, rows: deleted.length }
}

/** Refreshes the marts, and replaces their log entries of the erased conversations too. */
async function eraseFromMarts(writer: Writer, workspaceId: string): Promise<void> {
  if (!(await hasMarts(writer))) return
  const conversations = ownKeys(CONVERSATIONS, 'key[1], key[2]')
  for (const published of marts().map(publishedMart).filter(isOfConversation)) {
    const { table, key } = published
    const logged = key.map(({ name, sqlType }, index) => `key[${index + 1}]::${sqlType} AS ${name}`)
    // An earlier entry may refer to a row that no longer exists.
    await writer.run(`CREATE OR REPLACE TEMP TABLE erased_keys AS
      SELECT ${key.map(({ name }) => name).join(', ')} FROM ${table}
      WHERE workspace_id = ${quoteText(workspaceId)} AND (agent_id, conversation_id) IN (${conversations})
      UNION SELECT ${logged.join(', ')} FROM _changes
      WHERE table_name = ${quoteText(table)} AND key[1] = ${quoteText(workspaceId)} AND (key[2], key[3]) IN (${conversations})`)
    await logErasure(writer, published)
  }
  await refreshMartsWithin(writer)
  // The refresh has logged the removed rows.
  await writer.run(`UPDATE _changes SET op = 'delete' WHERE op <> 'delete' AND starts_with(table_name, 'marts.')
    AND key[1] = ${quoteText(workspaceId)} AND (key[2], key[3]) IN (${conversations})`)
}

/**
 * Deletes the rows of all models, since any column may contain data of an erased record, and a model that cannot be
 * built would keep it. Targets also erase the rows.
 */
async function emptyModels(writer: Writer): Promise<void> {
  const models = await builtModels(writer)
  for (const published of models.map(publishedModel)) {
    const { table } = published
    await appendEntries(
      writer,
      `SELECT ${quoteText(table)} AS table_name, ${keyList(published, 't')} AS key, NULL::DATE AS partition_before, 'delete' AS op FROM ${table} t`,
    )
    await writer.run(`UPDATE _changes SET op = 'delete' WHERE table_name = $table AND op <> 'delete'`, { table })
    await writer.run(`DELETE FROM ${table}`)
  }
  if (models.length > 0) await writer.run('UPDATE _models SET epoch = NULL, seq = NULL, row_count = 0')
}

/** Removes erased conversation ids from windows by id that no run will continue: finished ones, and those too old to be resumed. */
async function eraseFromWindows(writer: Writer, workspaceId: string, nowMs: number): Promise<void> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const windows = await writer.rows<{ name: string; progress: string; erased: string[] }>(
    `SELECT window_name AS name, any_value(progress) AS progress, list(key[2]) AS erased
     FROM _windows JOIN erased ON table_name = ${quoteText(CONVERSATIONS)} AND key[1] = agent_id
       AND list_contains(from_json(progress->'$.window.ids', '["VARCHAR"]'), key[2])
     WHERE ${here} GROUP BY agent_id, window_name`,
  )
  for (const { name, progress, erased } of windows) {
    const before = JSON.parse(progress) as WindowProgress
    if (!before.done && isResumable(before.window, nowMs)) continue
    await writer.run(
      `UPDATE _windows SET progress = $progress WHERE ${here} AND agent_id = $agent AND window_name = $name`,
      { agent: before.window.agentId, name, progress: JSON.stringify(withoutIds(before, new Set(erased))) },
    )
  }
}

/** Deletes all data about conversations and events besides published rows. */
async function eraseBookkeeping(writer: Writer, workspaceId: string): Promise<void> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const keys = ownKeys(CONVERSATIONS, 'key[1], key[2]')
  for (const table of ['conversation_patches', '_measured_refreshes'])
    await writer.run(`DELETE FROM ${table} WHERE ${here} AND (agent_id, conversation_id) IN (${keys})`)
  await writer.run(
    `DELETE FROM _absences WHERE ${here} AND record = ${quoteText(CONVERSATIONS)} AND (owner, id) IN (${keys})`,
  )
  // `_quarantine` names an event by its file and id.
  await writer.run(`DELETE FROM _quarantine WHERE ${here} AND record = ${quoteText(webhookEvent.name)}
    AND string_split(file, '#')[-1] IN (FROM erased_events)`)
  // Examples may contain erased keys; the next run of each check finds new ones.
  await writer.run(`UPDATE _checks SET examples = '[]' WHERE examples::VARCHAR <> '[]'`)
}

/** Refuses keys that match no row by mistake, since the data would remain. @throws RangeError */
function checkKeys(records: readonly RecordKey[]): void {
  for (const { table, key } of records) {
    const published = table === OBSERVATIONS.table ? undefined : publishedTable(table)
    if (!published)
      throw new RangeError(`Nothing was erased: ${JSON.stringify(table)} is no table of records, or a child table`)
    const names = published.key.slice(1).map(({ name }) => name)
    if (key.length !== names.length)
      throw new RangeError(`Nothing was erased: a key of ${table} is ${names.join(', ')}, and ${key.length} were given`)
  }
}

/**
 * Erases records of a workspace from tables and change log, in one transaction. A conversation is erased with its child rows, transcript,
 * model messages, observations, patches, absences and events, and its id in windows that requested it; an event with the row of its own table.
 * Keys without a row are logged too, so that erasing again after a failed publication reaches every copy.
 *
 * An unfinished window of the last day keeps its ids. A sync resumes it, and its landed pages refer to the ids by position: without one of
 * them, others would be exported and billed again. Erase again when it is finished, or a day later; it may also export the conversation again.
 *
 * If the marts are built, they are refreshed in the same transaction. Models are emptied, and filled by their next refresh.
 *
 * DuckDB overwrites the bytes of deleted rows only when it needs their blocks; `replay` writes a new file.
 *
 * @returns the tables that lost rows
 * @throws RangeError for a table without records of its own, or a key that lacks a column
 */
export const eraseRecords = (
  writer: Writer,
  { workspaceId, records, nowMs }: { workspaceId: string; records: readonly RecordKey[]; nowMs: number },
): Promise<ErasedTable[]> =>
  writer.transaction(async () => {
    checkKeys(records)
    await writer.run('CREATE OR REPLACE TEMP TABLE erased (table_name VARCHAR, key VARCHAR[])')
    await writer.append(
      'erased',
      records.map(({ table, key }) => ({ table_name: table, key })),
    )
    await collectEvents(writer, workspaceId)
    const erased: ErasedTable[] = []
    for (const published of PUBLISHED_TABLES) erased.push(await eraseFrom(writer, published, workspaceId))
    await eraseBookkeeping(writer, workspaceId)
    await eraseFromMarts(writer, workspaceId)
    await emptyModels(writer)
    await eraseFromWindows(writer, workspaceId, nowMs)
    return erased.filter(({ rows }) => rows > 0)
  })
