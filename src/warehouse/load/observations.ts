// Stores every observation of a conversation, whether or not its version wins. Changes and spend by day derive from
// these rows, so they do not depend on the order of arrival.

import { keyItems } from '../../catalog/extraction.ts'
import { coerceRecord } from '../../catalog/inspection/coerce.ts'
import { type Layout, quoteName, quoteText } from '../../catalog/layout.ts'
import { sentFields } from '../../catalog/shape.ts'
import { recordStruct } from '../../catalog/staging.ts'
import { logChanges } from '../changes/log-changes.ts'
import { OBSERVATIONS } from '../changes/published-tables.ts'
import { iso, type Writer } from '../connection.ts'
import { STAGE } from './stage.ts'

/** Columns of the conversation that an observation also has. */
const OBSERVED = [
  'state',
  'stage',
  'chat_assigned_to',
  'is_resolved',
  'resolved_at',
  'token_usage_cumulative_input_tokens',
  'token_usage_cumulative_output_tokens',
  'token_usage_cumulative_total_tokens',
  'token_usage_cumulative_usd',
  'token_usage_per_model',
  'detailed_cost_total_credits_consumed',
  'detailed_cost_speech_gen_cost',
  'detailed_cost_transcriber_cost',
  'detailed_cost_llm_cost',
  'ext_cost',
  'last_message_ts',
] as const

const observedColumns = ({ columns }: Layout) => OBSERVED.map(name => columns.find(column => column.name === name)!)

/** Appends an observation for each staged record; must run before any of them is dropped. */
export async function observeExports(writer: Writer, options: { layout: Layout; workspaceId: string }): Promise<void> {
  const { layout, workspaceId } = options
  const columns = observedColumns(layout)
  const key = [...keyItems(layout, workspaceId), 's."__fetched" AS observed_at']
  await logObservations(writer, `SELECT ${key.join(', ')} FROM ${STAGE} s`)
  await writer.run(`INSERT INTO conversation_observations
      (${[...layout.key, 'observed_at', 'source', 'kind', 'modified', 'version', ...OBSERVED].map(quoteName).join(', ')})
    SELECT ${keyItems(layout, workspaceId).join(', ')}, s."__fetched", ${quoteText('export')}, s."__kind",
      changed_at(s."lastModified", s."__fetched"), coalesce(changed_at(s."lastModified", s."__fetched"), s."__as_of"), ${columns.map(column => column.expression).join(', ')}
    FROM ${STAGE} s`)
}

/** Logs observations as new without looking up stored ones: equal keys are always in the same partition. */
const logObservations = (writer: Writer, keys: string): Promise<void> =>
  logChanges(writer, { table: OBSERVATIONS.table, keys, areNew: true })

/** The state of a conversation according to an event. */
interface EventSighting {
  agentId: string
  conversationId: string
  /** The part of the record that the event carries. */
  values: Readonly<Record<string, unknown>>
  /** Time when the event happened, ms. */
  observedMs: number
  /** The carried `lastModified`, ms; null if it carried none. */
  modifiedMs: number | null
  /** Writes the values as JSON. */
  write: (value: unknown) => string
}

/** Appends an observation for each sighting; `reported` names the columns that the event carried. */
export async function observeEvents(
  writer: Writer,
  { layout, workspaceId }: { layout: Layout; workspaceId: string },
  sightings: readonly EventSighting[],
): Promise<void> {
  if (sightings.length === 0) return
  const columns = observedColumns(layout)
  const { record } = layout
  const keys = new Set([record.id.key, ...columns.flatMap(column => column.from)])
  const fields = Object.fromEntries(Object.entries(sentFields(record)).filter(([key]) => keys.has(key)))
  const rows = sightings.map(({ agentId, conversationId, values, observedMs, modifiedMs, write }) => {
    const own = Object.fromEntries(Object.entries(values).filter(([key]) => Object.hasOwn(fields, key)))
    const coerced = coerceRecord({ ...record, fields }, { ...own, [record.id.key]: conversationId })!
    return {
      agent_id: agentId,
      conversation_id: conversationId,
      created: iso(observedMs),
      modified: modifiedMs === null ? null : iso(modifiedMs),
      reported: OBSERVED.filter((_, index) => columns[index]!.from.some(key => Object.hasOwn(values, key))),
      record: write(coerced.record),
    }
  })
  await writer.run(
    'CREATE OR REPLACE TEMP TABLE seen (agent_id VARCHAR, conversation_id VARCHAR, created TIMESTAMPTZ, modified TIMESTAMPTZ, reported VARCHAR[], record VARCHAR)',
  )
  await writer.append('seen', rows)
  const seen = `SELECT ${quoteText(workspaceId)} AS workspace_id, agent_id, conversation_id, created AS observed_at FROM seen`
  await logObservations(writer, seen)
  const struct = quoteText(JSON.stringify(recordStruct(fields, {})))
  await writer.run(`INSERT INTO conversation_observations
      (workspace_id, agent_id, conversation_id, observed_at, source, modified, version, reported, ${OBSERVED.join(', ')})
    SELECT ${quoteText(workspaceId)}, agent_id, conversation_id, created, 'webhook', modified, coalesce(modified, created), reported, ${columns.map(({ expression }) => expression).join(', ')}
    FROM (SELECT *, unnest(from_json(record, ${struct})) FROM seen) s`)
}
