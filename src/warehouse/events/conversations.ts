// The effects of events on conversations: patches from the parts of the record that events carry, observations, and
// marks on stale stored copies.
import { EVENT_TYPES } from '../../catalog/events/event-types.ts'
import { coerceRecord } from '../../catalog/inspection/coerce.ts'
import { isObject } from '../../catalog/inspection/inspect.ts'
import { type Layout, quoteText } from '../../catalog/layout.ts'
import { MAX_CLOCK_SKEW_MS } from '../../core/time.ts'
import { logChanges } from '../changes/log-changes.ts'
import { iso, type Writer } from '../connection.ts'
import { markUnanswered } from '../load/missing.ts'
import { observeEvents } from '../load/observations.ts'
import { sqlFile } from '../sql-files.ts'
import { type IncomingEvent, orderedTimeMs, timeOf } from './incoming.ts'
import { applyPatches, applyStoredPatches, insertIncomplete, type Patch } from './patches.ts'

/** Applies events to their conversations, inside the caller's transaction. */
export async function applyToConversations(
  writer: Writer,
  options: { layout: Layout; workspaceId: string; nowMs: number },
  events: readonly IncomingEvent[],
): Promise<void> {
  const own = events.filter(isOfConversation)
  if (own.length === 0) return
  const { workspaceId } = options
  await stageTouched(writer, own)
  const keys = `SELECT DISTINCT ${quoteText(workspaceId)} AS workspace_id, agent_id, conversation_id FROM touched`
  await logChanges(writer, { table: options.layout.record.table, keys })
  await insertIncomplete(writer, { ...options, from: 'touched' })
  await applyPatches(writer, { ...options, patches: own.flatMap(patchesOf) })
  await markTouched(writer, options)
  await observeEvents(writer, options, own.flatMap(sightingsOf))
}

/** Applies events whose payloads are lost, using their rows in `webhook_events` and the stored patches and observations. */
export async function applyRowsToConversations(
  writer: Writer,
  options: { layout: Layout; workspaceId: string; nowMs: number },
): Promise<void> {
  const outdating = EVENT_TYPES.filter(({ outdates }) => outdates).map(({ name }) => quoteText(name))
  await writer.run(`CREATE OR REPLACE TEMP TABLE touched AS
    SELECT agent_id, conversation_id, _as_of AS as_of, _fetched_at AS fetched_at, type IN (${outdating.join(', ')}) AS outdates
    FROM webhook_events WHERE workspace_id = ${quoteText(options.workspaceId)} AND payload_file IS NULL
      AND agent_id IS NOT NULL AND conversation_id IS NOT NULL`)
  await insertIncomplete(writer, { ...options, from: 'touched' })
  await applyStoredPatches(writer, options)
  await markTouched(writer, options)
}

async function markTouched(writer: Writer, { workspaceId }: { workspaceId: string }): Promise<void> {
  await writer.run(sqlFile('events/mark_changed'), { workspace: workspaceId })
  await markUnanswered(writer, workspaceId, 'SELECT agent_id, conversation_id FROM touched')
}

type ConversationEvent = IncomingEvent & { conversation: NonNullable<IncomingEvent['conversation']> }

const isOfConversation = (event: IncomingEvent): event is ConversationEvent => event.conversation !== null

async function stageTouched(writer: Writer, events: readonly ConversationEvent[]): Promise<void> {
  await writer.run(
    'CREATE OR REPLACE TEMP TABLE touched (agent_id VARCHAR, conversation_id VARCHAR, as_of TIMESTAMPTZ, fetched_at TIMESTAMPTZ, outdates BOOLEAN)',
  )
  await writer.append(
    'touched',
    events.map(event => ({
      agent_id: event.conversation.agentId,
      conversation_id: event.conversation.id,
      as_of: iso(event.createdMs),
      fetched_at: iso(orderedTimeMs(event)),
      outdates: event.type?.outdates === true,
    })),
  )
}

/** Returns the part of the record that an event carries (`lightConvoData`); null if it carries none. */
function lightOf({ type, payload }: IncomingEvent): Record<string, unknown> | null {
  const light = payload.lightConvoData
  return type?.reportsConversation === true && isObject(light) ? light : null
}

/** Returns the record's last change according to the event, ms; null if it is after the event (like the macro `changed_at`). */
function modifiedMs(light: Record<string, unknown> | null, { createdMs }: IncomingEvent): number | null {
  const ms = timeOf(light?.lastModified)
  return ms !== null && ms <= createdMs + MAX_CLOCK_SKEW_MS ? ms : null
}

/** Returns the patch that an event carries. The conversation's id comes from the event, regardless of the carried `ID`. */
function patchesOf(event: ConversationEvent): Patch[] {
  const { conversation, createdMs, payload, write } = event
  const light = lightOf(event)
  const { ID: _, ...values } = light ?? {}
  const channel = typeof payload.channel === 'string' && payload.channel !== '' ? { channel: payload.channel } : {}
  const carried = { ...values, ...channel }
  if (Object.keys(carried).length === 0) return []
  return [
    {
      agentId: conversation.agentId,
      conversationId: conversation.id,
      values: carried,
      modifiedMs: modifiedMs(light, event),
      createdMs,
      orderedMs: orderedTimeMs(event),
      write,
    },
  ]
}

function sightingsOf(event: ConversationEvent) {
  const values = lightOf(event)
  if (values === null) return []
  const { agentId, id: conversationId } = event.conversation
  const observedMs = orderedTimeMs(event)
  return [{ agentId, conversationId, values, observedMs, modifiedMs: modifiedMs(values, event), write: event.write }]
}

/** Returns findings about values that did not fit in the carried parts of records. Unknown keys are not reported as drift. */
export const lightFindings = <E extends IncomingEvent>(layout: Layout, events: readonly E[]) =>
  events.flatMap(event => {
    const light = event.conversation && lightOf(event)
    const page = { list: '', atMs: event.receivedMs }
    const coerced =
      light && coerceRecord(layout.record, { ...light, [layout.record.id.key]: event.conversation!.id }, page)
    return coerced ? [{ event, issues: coerced.issues, drift: [] }] : []
  })
