// How tables and columns of layout 15 are read from a warehouse of layouts 6 to 14. A column is read from the older column of the same name,
// else from one of its former names, else from an expression over the older row; a column that no older warehouse has is NULL. Values are
// converted to the new type. A table that the older warehouse lacks is empty, unless another table held its rows.
import { EVENT_TYPES } from '../../catalog/events/event-types.ts'
import { quoteName, quoteText } from '../../catalog/layout.ts'

/** The oldest layout that `replay` reads: records of earlier ones have no numbers. */
export const OLDEST_READABLE = 6

/** Former names of columns, by table and column. */
const FORMER_NAMES: Record<string, Record<string, readonly string[]>> = {
  conversations: { _reported_channel: ['_channel_told', 'channel_told'] },
  organizations: { reported_workspace_id: ['told_workspace_id'] },
  conversation_observations: { reported: ['told'] },
  _loads: { coerced: ['mended'] },
  _quota: { reported_at: ['told_at'] },
}

const REPORTED = EVENT_TYPES.flatMap(({ name, reportedResource }) =>
  reportedResource ? [{ name, fields: Object.values(reportedResource.columns) }] : [],
)
const REPORTED_FIELDS = [...new Set(REPORTED.flatMap(({ fields }) => fields))]

/** SQL over the older row for a column that it has under no name. */
const COMPUTED: Record<string, Record<string, string>> = {
  // Payloads were stored in the row. They are not carried over: a row whose archive file is gone has none.
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

/** The column of the older table that holds a column's values: of its own name, or the first of its former names. */
function olderColumn(table: string, column: string, older: ReadonlyMap<string, string>): string | undefined {
  return [column, ...(FORMER_NAMES[table]?.[column] ?? [])].find(name => older.has(name))
}

/** SQL of `extra` with the values that have no column any more. */
function extraSql(older: ReadonlyMap<string, string>): string {
  return Object.entries(TO_EXTRA).reduce((extra, [column, { key, when }]) => {
    if (!older.has(column)) return extra
    const merged = `json_merge_patch(coalesce(${extra}, '{}'::JSON), json_object('${key}', ${quoteName(column)}))`
    return `CASE WHEN ${quoteName(column)} IS NOT NULL AND ${when} THEN ${merged} ELSE ${extra} END`
  }, 'extra')
}

function columnSql(table: string, column: string, type: string, older: ReadonlyMap<string, string>): string {
  if (column === 'extra' && older.has('extra')) return extraSql(older)
  const source = olderColumn(table, column, older)
  if (source !== undefined) return converted(quoteName(source), older.get(source)!, type)
  const computed = COMPUTED[table]?.[column]
  return computed === undefined ? `NULL::${type}` : `(${computed})::${type}`
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
    ([name, type]) => `${columnSql(table, name, type, columns)} AS ${quoteName(name)}`,
  )
  return `SELECT rowid, ${selected.join(', ')} FROM ${schema}.${quoteName(source)}${former ? ` WHERE ${former.where}` : ''}`
}
