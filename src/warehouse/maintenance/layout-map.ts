// How tables and columns of layout 15 are read from a warehouse of layouts 6 to 14. A column is read from the older columns of the same name
// and of its former names, else from an expression over the older row; a column that no older warehouse has is NULL. Values are converted to
// the new type. A table that the older warehouse lacks is empty, unless another table held its rows.
import { EVENT_TYPES } from '../../catalog/events/event-types.ts'
import { layoutOf, quoteName, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'

/** The oldest layout that `replay` reads: records of earlier ones have no numbers. */
export const OLDEST_READABLE = 6

/** Former names of columns, by table and column. */
const FORMER_NAMES: Record<string, Record<string, readonly string[]>> = {
  conversations: { _reported_channel: ['_channel_told', 'channel_told'] },
  organizations: { reported_workspace_id: ['told_workspace_id'] },
  conversation_observations: { reported: ['told'] },
  conversation_turns: { written_at: ['at'] },
  conversation_model_messages: { written_at: ['at'] },
  conversation_campaign_calls: { duration: ['duration_seconds'] },
  messages_received: { message_from: ['from'] },
  _requests: { window_name: ['window'] },
  _windows: { window_name: ['window'] },
  _loads: { coerced: ['mended'] },
  _quota: { reported_at: ['told_at'] },
}

const REPORTED = EVENT_TYPES.flatMap(({ name, reportedResource }) =>
  reportedResource ? [{ name, fields: Object.values(reportedResource.columns) }] : [],
)
const REPORTED_FIELDS = [...new Set(REPORTED.flatMap(({ fields }) => fields))]

/** The table of a column's older rows: its name, with the schema, and its columns. */
interface Source {
  schema: string
  table: string
  columns: ReadonlyMap<string, string>
}

/** SQL of the turn of a message, for its first message: until layout 14 the turns were a list in the row of the conversation. */
const turnIn =
  (parent: string, list: string) =>
  ({ schema, table, columns }: Source): string => {
    const turn = columns.has('turn_position') ? 'turn_position' : 'position'
    const isFirst = columns.has('message_position') ? 'message_position = 1' : 'true'
    const key = ['workspace_id', 'agent_id', 'conversation_id', '_record']
    return `CASE WHEN ${isFirst} THEN (SELECT json_extract(p.${list}, (${table}.${turn} - 1)::BIGINT) FROM ${schema}.${parent} AS p
      WHERE ${key.map(name => `p.${name} = ${table}.${name}`).join(' AND ')}) END`
  }

/** SQL over the older row for a column that it has under no name. */
const COMPUTED: Record<string, Record<string, string | ((source: Source) => string)>> = {
  // Agents had no child tables, and so no numbers.
  agents: { _record: 'rowid + 1' },
  conversation_turns: { turn_extra: turnIn('conversation_transcripts', 'turns') },
  conversation_model_messages: { turn_extra: turnIn('conversation_model_histories', 'messages') },
  // Payloads were stored in the row. `replay` has moved those that no file held to the spool's archive.
  webhook_events: {
    resource: `CASE WHEN type IN (${REPORTED.map(({ name }) => quoteText(name)).join(', ')})
      THEN json_object(${REPORTED_FIELDS.map(field => `'${field}', payload->'$.${field}'`).join(', ')}) END`,
  },
  _runs: { success: "outcome IN ('done', 'limit-reached', 'preempted')" },
  // Until layout 6 an event's null values were not distinguished from columns that the event did not carry.
  conversation_observations: {
    reported: `CASE WHEN source = 'webhook' THEN list_filter([
      CASE WHEN state IS NOT NULL THEN 'state' END, CASE WHEN stage IS NOT NULL THEN 'stage' END,
      CASE WHEN chat_assigned_to IS NOT NULL THEN 'chat_assigned_to' END,
      CASE WHEN is_resolved IS NOT NULL THEN 'is_resolved' END], lambda name: name IS NOT NULL) END`,
  },
}

/** Tables whose rows another table held: which table, and which of its rows. */
const FORMER_TABLES: Record<string, { table: string; where: string }> = {
  conversation_handoff_team_ids: { table: 'conversation_handoff_teams', where: 'team_id IS NOT NULL' },
  conversation_handoff_team_keys: { table: 'conversation_handoff_teams', where: 'team_key IS NOT NULL' },
}

/** Older columns that no column of this layout holds: their value goes to `extra` under this key, where the condition holds. */
const TO_EXTRA: Record<string, { key: string; when: string }> = {
  channel_sent: { key: 'channel', when: 'channel_sent IS DISTINCT FROM channel' },
}

/** Column names and types, by table. */
export type Tables = ReadonlyMap<string, ReadonlyMap<string, string>>

/** SQL of a value of type `from` as type `to`. A fraction and a number beyond 2^53 are no counts: they become NULL. */
function converted(sql: string, from: string, to: string): string {
  if (from === to) return sql
  if (from === 'DOUBLE' && to === 'BIGINT')
    return `CASE WHEN ${sql} = trunc(${sql}) AND abs(${sql}) <= ${Number.MAX_SAFE_INTEGER} THEN ${sql}::BIGINT END`
  return `TRY_CAST(${sql} AS ${to})`
}

/** A value that goes to `extra`: the names on its path in the record, its SQL, and when it does. */
interface Spare {
  path: readonly string[]
  sql: string
  when: string
}

/** Counts of an older table that its successor's BIGINT cannot hold. */
function misfits(table: string, older: ReadonlyMap<string, string>): Spare[] {
  const record = RECORD_TYPES.find(type => type.table === table)
  const columns = record ? layoutOf(record).columns : []
  return columns.flatMap(({ name, sqlType, path }) => {
    if (path === null || sqlType !== 'BIGINT' || older.get(name) !== 'DOUBLE') return []
    const when = `${quoteName(name)} IS NOT NULL AND ${converted(quoteName(name), 'DOUBLE', 'BIGINT')} IS NULL`
    return [{ path: path.split('.'), sql: quoteName(name), when }]
  })
}

const spares = (table: string, older: ReadonlyMap<string, string>): Spare[] => [
  ...Object.entries(TO_EXTRA).flatMap(([column, { key, when }]) =>
    older.has(column)
      ? [{ path: [key], sql: quoteName(column), when: `${quoteName(column)} IS NOT NULL AND ${when}` }]
      : [],
  ),
  ...misfits(table, older),
]

/** SQL of `extra` with the values that no column holds any more. */
function extraSql(table: string, older: ReadonlyMap<string, string>): string {
  const all = spares(table, older)
  if (all.length === 0) return 'extra'
  const objects = all.map(({ path, sql, when }) => {
    const nested = path.reduceRight((value, name) => `json_object(${quoteText(name)}, ${value})`, sql)
    return `CASE WHEN ${when} THEN ${nested} ELSE '{}' END`
  })
  const merged = objects.reduce((extra, object) => `json_merge_patch(${extra}, ${object})`, `coalesce(extra, '{}')`)
  return `CASE WHEN ${all.map(({ when }) => `(${when})`).join(' OR ')} THEN ${merged} ELSE extra END`
}

function columnSql(table: string, column: string, type: string, source: Source): string {
  const older = source.columns
  if (column === 'extra' && older.has('extra')) return extraSql(table, older)
  const sources = [column, ...(FORMER_NAMES[table]?.[column] ?? [])].filter(name => older.has(name))
  const values = sources.map(name => converted(quoteName(name), older.get(name)!, type))
  if (values.length > 0) return values.length === 1 ? values[0]! : `coalesce(${values.join(', ')})`
  const computed = COMPUTED[table]?.[column]
  if (computed === undefined) return `NULL::${type}`
  return `(${typeof computed === 'string' ? computed : computed(source)})::${type}`
}

/**
 * SELECT of a table's rows in layout 15 from the older warehouse, which is attached as `schema`; undefined if it has no such rows.
 * `rowid` is selected too, because readers page through a table by it.
 */
export function olderRows(
  { table, schema }: { table: string; schema: string },
  { older, newer }: { older: Tables; newer: Tables },
): string | undefined {
  const former = older.has(table) ? undefined : FORMER_TABLES[table]
  const source = former?.table ?? table
  const columns = older.get(source)
  if (columns === undefined) return undefined
  const selected = [...newer.get(table)!].map(
    ([name, type]) => `${columnSql(table, name, type, { schema, table: source, columns })} AS ${quoteName(name)}`,
  )
  return `SELECT rowid, ${selected.join(', ')} FROM ${schema}.${quoteName(source)}${former ? ` WHERE ${former.where}` : ''}`
}
