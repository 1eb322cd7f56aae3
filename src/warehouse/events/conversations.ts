// What events do to conversations: the parts of the record that they carry, when it was seen so, and that the copy that is held
// is out of date.

import { coerceRecord } from '../../catalog/coerce.ts'
import { isObject } from '../../catalog/inspect.ts'
import { type Layout, quoteText } from '../../catalog/layout.ts'
import { recordStruct } from '../../catalog/staging.ts'
import { MAX_CLOCK_SKEW_MS } from '../../core/time.ts'
import { writeExactly } from '../../json/exact-json.ts'
import { iso, type Writer } from '../connection.ts'
import { markUnanswered } from '../load/missing.ts'
import { OBSERVED } from '../load/observations.ts'
import { type IncomingEvent, orderedTimeMs, timeOf } from './incoming.ts'
import { applyPatches, insertIncomplete, type Patch } from './patches.ts'

type OfConversation = IncomingEvent & { conversation: NonNullable<IncomingEvent['conversation']> }

const isOfConversation = (event: IncomingEvent): event is OfConversation => event.conversation !== null

/** The part of the record that an event carries; null where it carries none. */
function lightOf({ type, payload }: IncomingEvent): Record<string, unknown> | null {
  const light = payload.lightConvoData
  return type?.tellsConversation === true && isObject(light) ? light : null
}

/** When the record was changed, as the event tells it; null where that lies ahead of the event, as for exports (`changed_at`). */
function modifiedMs(light: Record<string, unknown> | null, { createdMs }: IncomingEvent): number | null {
  const ms = timeOf(light?.lastModified)
  return ms !== null && ms <= createdMs + MAX_CLOCK_SKEW_MS ? ms : null
}

/** The record's own id is the conversation's, whatever is told with it. */
function patchesOf(event: OfConversation): Patch[] {
  const { conversation, createdMs, payload } = event
  const light = lightOf(event)
  const { ID: _, ...values } = light ?? {}
  const channel = typeof payload.channel === 'string' && payload.channel !== '' ? { channel: payload.channel } : {}
  const told = { ...values, ...channel }
  if (Object.keys(told).length === 0) return []
  const { agentId, id } = conversation
  return [
    {
      agentId,
      conversationId: id,
      values: told,
      modifiedMs: modifiedMs(light, event),
      createdMs,
      orderedMs: orderedTimeMs(event),
    },
  ]
}

/** What was found in the parts of records that events carry: values that did not fit. Which keys they have is no news. */
export const lightFindings = <E extends IncomingEvent>(layout: Layout, events: readonly E[]) =>
  events.flatMap(event => {
    const light = event.conversation && lightOf(event)
    const mended = light && coerceRecord(layout.record, { ...light, [layout.record.id.key]: event.conversation!.id })
    return mended ? [{ event, issues: mended.issues, drift: [] }] : []
  })

const [text, time] = ['VARCHAR', 'TIMESTAMP']

async function stageTouched(writer: Writer, events: readonly OfConversation[]): Promise<void> {
  await writer.run(
    'CREATE OR REPLACE TEMP TABLE touched (agent_id VARCHAR, conversation_id VARCHAR, as_of TIMESTAMP, fetched_at TIMESTAMP, outdates BOOLEAN)',
  )
  await writer.append(
    'touched',
    { agent_id: text, conversation_id: text, as_of: time, fetched_at: time, outdates: 'BOOLEAN' },
    events.map(event => ({
      agent_id: event.conversation.agentId,
      conversation_id: event.conversation.id,
      as_of: iso(event.createdMs),
      fetched_at: iso(orderedTimeMs(event)),
      outdates: event.type?.outdates === true,
    })),
  )
}

/**
 * A conversation has changed since it was exported where an event happened no earlier than its copy was true. Of one that was
 * never exported the newest event tells how fresh it is.
 */
const markTouched = (writer: Writer, workspaceId: string): Promise<void> =>
  writer.run(`UPDATE conversations AS c SET
      _changed_at = greatest(c._changed_at, t.changed),
      _dirty_since = CASE WHEN NOT c._complete OR greatest(c._changed_at, t.changed) >= c._as_of THEN greatest(c._changed_at, t.changed) END,
      _version = CASE WHEN c._complete THEN c._version ELSE greatest(c._version, t.newest) END,
      _as_of = CASE WHEN c._complete THEN c._as_of ELSE greatest(c._as_of, t.newest) END,
      _fetched_at = CASE WHEN c._complete THEN c._fetched_at ELSE greatest(c._fetched_at, t.place) END
    FROM (SELECT agent_id, conversation_id, max(as_of) FILTER (outdates) AS changed, max(as_of) AS newest, max(fetched_at) AS place
      FROM touched GROUP BY ALL) t
    WHERE c.workspace_id = ${quoteText(workspaceId)} AND c.agent_id = t.agent_id AND c.conversation_id = t.conversation_id`)

/** The fields that an observation keeps. */
function observedFields({ record, columns }: Layout) {
  const keys = new Set([record.id.key, ...OBSERVED.flatMap(name => columns.find(column => column.name === name)!.from)])
  return Object.fromEntries(Object.entries(record.fields).filter(([key]) => keys.has(key)))
}

async function observeEvents(
  writer: Writer,
  { layout, workspaceId }: { layout: Layout; workspaceId: string },
  events: readonly OfConversation[],
): Promise<void> {
  const fields = observedFields(layout)
  const observed = OBSERVED.map(name => layout.columns.find(column => column.name === name)!)
  const seen = events.flatMap(event => {
    const light = lightOf(event)
    if (light === null) return []
    const own = Object.fromEntries(Object.entries(light).filter(([key]) => Object.hasOwn(fields, key)))
    const { record } = coerceRecord(
      { ...layout.record, fields },
      { ...own, [layout.record.id.key]: event.conversation.id },
    )!
    const modified = modifiedMs(light, event)
    return {
      agent_id: event.conversation.agentId,
      conversation_id: event.conversation.id,
      created: iso(orderedTimeMs(event)),
      modified: modified === null ? null : iso(modified),
      told: OBSERVED.filter((_, index) => observed[index]!.from.some(key => Object.hasOwn(light, key))),
      record: writeExactly(record),
    }
  })
  if (seen.length === 0) return
  await writer.run(
    'CREATE OR REPLACE TEMP TABLE seen (agent_id VARCHAR, conversation_id VARCHAR, created TIMESTAMP, modified TIMESTAMP, told VARCHAR[], record VARCHAR)',
  )
  await writer.append(
    'seen',
    { agent_id: text, conversation_id: text, created: time, modified: time, told: ['VARCHAR'], record: text },
    seen,
  )
  const struct = quoteText(JSON.stringify(recordStruct(fields, {})))
  await writer.run(`INSERT INTO conversation_observations
      (workspace_id, agent_id, conversation_id, observed_at, source, modified, version, told, ${OBSERVED.join(', ')})
    SELECT ${quoteText(workspaceId)}, agent_id, conversation_id, created, 'webhook', modified, coalesce(modified, created), told, ${observed.map(({ expression }) => expression).join(', ')}
    FROM (SELECT *, unnest(from_json(record, ${struct})) FROM seen) s`)
}

/** Applies events to the conversations that they are of, inside the caller's transaction. */
export async function applyToConversations(
  writer: Writer,
  options: { layout: Layout; workspaceId: string; nowMs: number },
  events: readonly IncomingEvent[],
): Promise<void> {
  const own = events.filter(isOfConversation)
  if (own.length === 0) return
  await stageTouched(writer, own)
  await insertIncomplete(writer, { ...options, from: 'touched' })
  await applyPatches(writer, { ...options, patches: own.flatMap(patchesOf) })
  await markTouched(writer, options.workspaceId)
  await markUnanswered(writer, options.workspaceId, 'SELECT agent_id, conversation_id FROM touched')
  await observeEvents(writer, options, own)
}
