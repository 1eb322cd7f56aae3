// Applies events to the tables: each event id once, with all its effects in one transaction.
//
//   read ─▶ drop applied events ─▶ `webhook_events` and own tables ─▶ transcripts ─▶ conversations ─▶ resources
//
// An event that cannot be loaded completely is stored only in `webhook_events`, and quarantined with the reason.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { webhookEvent } from '../../catalog/events/event-records.ts'
import { UNREADABLE_EVENT } from '../../catalog/events/event-types.ts'
import { layoutOf, quoteText } from '../../catalog/layout.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { iso, type Writer } from '../connection.ts'
import { quarantine } from '../load/bookkeeping.ts'
import { coercedFindings, writeFindings } from '../load/findings.ts'
import { mergeStage, resolveVersions } from '../load/merge.ts'
import { isAboutRecords, safeReason } from '../load/quarantine-reason.ts'
import { fillIncoming } from '../load/stage.ts'
import { storeTimeZone } from '../load/time-zone.ts'
import { applyRowsToConversations, applyToConversations, lightFindings } from './conversations.ts'
import { type IncomingEvent, readIncoming, type SpooledEvent } from './incoming.ts'
import { type EventRecord, eventRecord, recordsOf, stageEventRecords } from './records.ts'
import { applyRowsToResources, applyToResources } from './resources.ts'

export interface EventContext {
  writer: Writer
  workspaceId: string
  /** IANA name of the time zone of days. */
  timeZone: string
  now: () => number
}

export interface Applied {
  applied: number
  /** Number of events that had been applied before. */
  known: number
}

/** Returns which of these event ids the warehouse has. Reads only the events' time range, since random ids are spread widely. */
async function knownIds({ writer, workspaceId }: EventContext, events: readonly IncomingEvent[]): Promise<Set<string>> {
  const times = events.map(({ createdMs }) => createdMs)
  const at = (ms: number) => `TIMESTAMPTZ '${iso(ms)}'`
  // An undated event is dated by its receipt, which differs between deliveries, so no time range would contain both.
  const within = events.every(({ isDated }) => isDated)
    ? `AND _as_of BETWEEN ${at(Math.min(...times))} AND ${at(Math.max(...times))}`
    : ''
  const rows = await writer.rows<{ id: string }>(
    `SELECT event_id AS id FROM webhook_events WHERE workspace_id = ${quoteText(workspaceId)} ${within}
       AND event_id IN (SELECT unnest(from_json($ids::JSON, '["VARCHAR"]')))`,
    { ids: JSON.stringify(events.map(({ id }) => id)) },
  )
  return new Set(rows.map(({ id }) => id))
}

/** Returns the events that are not applied yet, each once. */
async function newOnes(context: EventContext, events: readonly IncomingEvent[]): Promise<IncomingEvent[]> {
  const known = await knownIds(context, events)
  return events.filter(({ id }) => !known.has(id) && known.add(id))
}

async function writeRecords(context: EventContext, type: RecordType, records: readonly EventRecord[]): Promise<void> {
  const { writer, workspaceId, timeZone } = context
  const layout = layoutOf(type, timeZone)
  const options = { layout, workspaceId, unknown: {}, source: 'webhook', nowMs: context.now() } as const
  await stageEventRecords(writer, type, records)
  if (type.fact) {
    await mergeStage(writer, options, { replaced: 0, superseded: 0 })
    return
  }
  await fillIncoming(writer, type)
  await mergeStage(writer, options, await resolveVersions(writer, options))
}

/** Writes the findings in events' records, each with its event's file as the example. */
async function writeEventFindings(
  context: EventContext,
  record: RecordType,
  records: readonly Pick<EventRecord, 'event' | 'issues' | 'drift'>[],
): Promise<void> {
  const files = records
    .map(found => {
      const { event } = found
      const page = { address: event.file, head: { sentAtServerMs: event.receivedMs } }
      // Removed secrets are reported once, with the event's own record.
      return { page, findings: coercedFindings(found, record === webhookEvent ? event.removed : null) }
    })
    .filter(({ findings: { issues, drift } }) => issues.length + drift.length > 0)
  await writeFindings(context.writer, { workspaceId: context.workspaceId, record, files })
}

/** Writes the effects of events. `stored`: they are already in `webhook_events`. */
async function writeEvents(context: EventContext, events: readonly IncomingEvent[], stored = false): Promise<void> {
  const { writer, workspaceId, timeZone } = context
  for (const [type, records] of recordsOf(events)) {
    if (stored && type === webhookEvent) continue
    await writeRecords(context, type, records)
    await writeEventFindings(context, type, records)
  }
  await quarantineEvents(context, events.filter(isUnreadable), UNREADABLE)
  const options = { workspaceId, nowMs: context.now() }
  const layout = layoutOf(conversation, timeZone)
  await applyToConversations(writer, { ...options, layout }, events)
  await writeEventFindings(context, conversation, lightFindings(layout, events))
  await applyToResources(writer, options, events)
}

/** Names an event in `_quarantine` by its file in the spool and its id in `webhook_events`. */
const quarantinedAs = (file: string, id: string): string => `${file}#${id}`

/** Returns the id of a quarantined event, from its file in `_quarantine`. */
export const quarantinedEvent = (file: string): string => file.slice(file.lastIndexOf('#') + 1)

/** Stores an event that could not be loaded completely. */
async function writeAlone(context: EventContext, event: IncomingEvent, reason: string): Promise<void> {
  const records = eventRecord(event)
  await writeRecords(context, webhookEvent, records)
  await writeEventFindings(context, webhookEvent, records)
  await quarantineEvents(context, [event], reason)
}

const quarantineEvents = ({ writer, workspaceId, now }: EventContext, events: IncomingEvent[], reason: string) =>
  quarantine(
    writer,
    { workspaceId, record: webhookEvent.name, nowMs: now() },
    events.map(({ file, id }) => ({ file: quarantinedAs(file, id), element: 1, reason })),
  )

const UNREADABLE = 'the event is not JSON, or nested too deeply'

const isUnreadable = ({ typeName }: IncomingEvent): boolean => typeName === UNREADABLE_EVENT

/**
 * True if a single event may be at fault. Includes our own bugs that an event's shape triggers, which would otherwise
 * keep all events out of the tables.
 */
const isAboutEvents = (fault: unknown): boolean =>
  isAboutRecords(fault) || fault instanceof TypeError || fault instanceof RangeError

/** Applies events in one transaction, or, if that fails, in halves down to the event at fault. @returns the number of new events */
async function applyHalving(context: EventContext, events: readonly IncomingEvent[]): Promise<number> {
  const { writer, workspaceId, timeZone } = context
  const apply = (write: (unknown: readonly IncomingEvent[]) => Promise<void>): Promise<number> =>
    writer.transaction(async () => {
      const unknown = await newOnes(context, events)
      if (unknown.length > 0) await write(unknown)
      await storeTimeZone(writer, workspaceId, timeZone)
      return unknown.length
    })
  try {
    return await apply(unknown => writeEvents(context, unknown))
  } catch (fault) {
    if (!isAboutEvents(fault)) throw fault
    if (events.length === 1)
      return apply(async ([event]) => {
        if (event) await writeAlone(context, event, safeReason(fault))
      })
    const middle = events.length >> 1
    const older = await applyHalving(context, events.slice(0, middle))
    return older + (await applyHalving(context, events.slice(middle)))
  }
}

/** Applies events of the spool; those applied before change nothing. @throws HOME_UNUSABLE if the disk refuses writes */
export async function applyEvents(context: EventContext, given: readonly SpooledEvent[]): Promise<Applied> {
  if (given.length === 0) return { applied: 0, known: 0 }
  const events = given.map(readIncoming)
  const applied = await applyHalving(context, events)
  return { applied, known: events.length - applied }
}

/** Applies events whose payloads are lost and whose rows a replay has copied, in one transaction. */
export async function applyPreservedEvents({ writer, workspaceId, timeZone, now }: EventContext): Promise<void> {
  const options = { workspaceId, nowMs: now() }
  await writer.transaction(async () => {
    await applyRowsToConversations(writer, { ...options, layout: layoutOf(conversation, timeZone) })
    await applyRowsToResources(writer, options)
  })
}

/** Applies a quarantined event again. @returns why it stays in quarantine, or null. @throws faults that the event does not cause */
export async function retryEvent(context: EventContext, event: SpooledEvent, file: string): Promise<string | null> {
  const { writer, workspaceId } = context
  const incoming = readIncoming(event)
  if (isUnreadable(incoming)) return UNREADABLE
  const row = 'workspace_id = $workspace AND file = $file AND element = 1'
  const params = { workspace: workspaceId, file }
  try {
    await writer.transaction(async () => {
      await writeEvents(context, [incoming], true)
      await writer.run(`DELETE FROM _quarantine WHERE ${row}`, params)
    })
    return null
  } catch (fault) {
    if (!isAboutEvents(fault)) throw fault
    const reason = safeReason(fault)
    await writer.transaction(() =>
      writer.run(`UPDATE _quarantine SET reason = $reason WHERE ${row}`, { ...params, reason }),
    )
    return reason
  }
}

/** Address of an event's payload in the spool's archive: the file, and the byte offset of its line. */
export interface PayloadAddress {
  file: string
  offset: number
}

/** Returns the address of an event's payload; undefined if the event is unknown or its payload is lost. */
export async function payloadAddress(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  id: string,
): Promise<PayloadAddress | undefined> {
  const [row] = await writer.rows<{ file: string; place: string }>(
    `SELECT payload_file AS file, payload_offset::VARCHAR AS place FROM webhook_events
     WHERE workspace_id = ${quoteText(workspaceId)} AND event_id = ${quoteText(id)} AND payload_file IS NOT NULL`,
  )
  return row && { file: row.file, offset: Number(row.place) }
}
