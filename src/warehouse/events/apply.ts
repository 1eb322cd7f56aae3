// Events into the tables, each once: known by its id, in the transaction that writes whatever it does.
//
//   read ─▶ leave out what is known ─▶ `webhook_events` and own tables ─▶ transcripts ─▶ conversations ─▶ resources
//
// An event of which some part cannot be loaded is kept in `webhook_events` alone, and quarantined with the reason.
import { conversation } from '../../catalog/conversation.ts'
import { webhookEvent } from '../../catalog/event-records.ts'
import { emptyNotes } from '../../catalog/inspect.ts'
import { layoutOf, quoteText } from '../../catalog/layout.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { iso, type Writer } from '../connection.ts'
import { quarantine } from '../load/bookkeeping.ts'
import { coercedFindings, removedSecrets, writeFindings } from '../load/findings.ts'
import { mergeStage, resolveVersions } from '../load/merge.ts'
import { isAboutRecords, safeReason } from '../load/quarantine-reason.ts'
import { fillIncoming } from '../load/stage.ts'
import { storeTimeZone } from '../load/time-zone.ts'
import { applyToConversations, lightFindings } from './conversations.ts'
import { type IncomingEvent, readIncoming, type SpooledEvent } from './incoming.ts'
import { eventRecord, recordsOf } from './records.ts'
import { applyToResources } from './resources.ts'
import { type EventRecord, stageEventRecords } from './stage-given.ts'

export interface EventContext {
  writer: Writer
  workspaceId: string
  /** IANA name; days are days of this zone. */
  timeZone: string
  now: () => number
}

/** An event, and the file of the spool that it lies in. */
export type FiledEvent = SpooledEvent & { file: string }

export interface Applied {
  applied: number
  /** Events that had been applied before. */
  known: number
}

type Incoming = IncomingEvent & { file: string }

/** Ids of these events that are in the warehouse. A window of time is looked at, since ids are spread over all of it. */
async function knownIds({ writer, workspaceId }: EventContext, events: readonly Incoming[]): Promise<Set<string>> {
  const times = events.map(({ createdMs }) => createdMs)
  const at = (ms: number) => `TIMESTAMP '${iso(ms)}'`
  // One that does not say when it happened was taken for another time when it was delivered before.
  const within = events.every(({ isDated }) => isDated)
    ? `AND _as_of BETWEEN ${at(Math.min(...times))} AND ${at(Math.max(...times))}`
    : ''
  const rows = await writer.rows<{ id: string }>(
    `SELECT event_id AS id FROM webhook_events WHERE workspace_id = ${quoteText(workspaceId)} ${within}
       AND event_id IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`,
    [JSON.stringify(events.map(({ id }) => id))],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Each once, of those that are not known. */
async function newOnes(context: EventContext, events: readonly Incoming[]): Promise<Incoming[]> {
  const known = await knownIds(context, events)
  return events.filter(({ id }) => !known.has(id) && known.add(id))
}

async function writeRecords(context: EventContext, type: RecordType, records: readonly EventRecord[]): Promise<void> {
  const { writer, workspaceId, timeZone } = context
  const layout = layoutOf(type, timeZone)
  const options = { layout, workspaceId, unknown: {}, source: 'webhook', nowMs: context.now() } as const
  await stageEventRecords(writer, type, records)
  if (type.fact) {
    await mergeStage(writer, options, { staged: records.length, replaced: 0, superseded: 0 })
    return
  }
  await fillIncoming(writer, type)
  await mergeStage(writer, options, await resolveVersions(writer, options, records.length))
}

/** What was found in records, with the file that each lies in as an example. */
async function writeEventFindings(
  context: EventContext,
  record: RecordType,
  records: readonly Pick<EventRecord, 'event' | 'issues' | 'drift'>[],
): Promise<void> {
  const files = records
    .map(found => {
      const event = found.event as Incoming
      const page = { address: event.file, head: { sentAtServerMs: event.receivedMs } }
      const { drift, issues } = coercedFindings(emptyNotes(), found)
      // Told once, with the event itself.
      const removed = record === webhookEvent ? removedSecrets(event.removed) : []
      return { page, findings: { drift, issues: [...issues, ...removed] } }
    })
    .filter(({ findings: { issues, drift } }) => issues.length + drift.length > 0)
  await writeFindings(context.writer, { workspaceId: context.workspaceId, record, files })
}

/** Writes what events do; `kept` are in `webhook_events` already. */
async function writeEvents(context: EventContext, events: readonly Incoming[], kept = false): Promise<void> {
  const { writer, workspaceId, timeZone } = context
  for (const [type, records] of recordsOf(events)) {
    if (kept && type === webhookEvent) continue
    await writeRecords(context, type, records)
    await writeEventFindings(context, type, records)
  }
  const options = { workspaceId, nowMs: context.now() }
  const layout = layoutOf(conversation, timeZone)
  await applyToConversations(writer, { ...options, layout }, events)
  await writeEventFindings(context, conversation, lightFindings(layout, events))
  await applyToResources(writer, options, events)
}

/** How the quarantine names an event: it is found in the table that has them all. */
const quarantinedAs = (file: string, id: string): string => `${file}#${id}`

/** The id of a quarantined event, by its file. */
export const quarantinedEvent = (file: string): string => file.slice(file.lastIndexOf('#') + 1)

/** Keeps an event of which something could not be loaded. */
async function writeAlone(context: EventContext, event: Incoming, reason: string): Promise<void> {
  const records = eventRecord(event)
  await writeRecords(context, webhookEvent, records)
  await writeEventFindings(context, webhookEvent, records)
  const { writer, workspaceId } = context
  const file = quarantinedAs(event.file, event.id)
  await quarantine(writer, { workspaceId, record: webhookEvent.name, nowMs: context.now() }, [
    { file, element: 1, reason },
  ])
}

/**
 * True where an event may be at fault, and others not: also a fault of our own that its shape has met. It would keep all
 * events out of the tables for as long as that one waits.
 */
const isAboutEvents = (fault: unknown): boolean =>
  isAboutRecords(fault) || fault instanceof TypeError || fault instanceof RangeError

/** How many were new. */
async function applyHalving(context: EventContext, events: readonly Incoming[]): Promise<number> {
  const { writer, workspaceId, timeZone } = context
  const apply = (write: (unknown: readonly Incoming[]) => Promise<void>): Promise<number> =>
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

/** Applies events that the spool keeps; those that are in the warehouse change nothing. @throws HOME_UNUSABLE where the disk refuses */
export async function applyEvents(context: EventContext, given: readonly FiledEvent[]): Promise<Applied> {
  if (given.length === 0) return { applied: 0, known: 0 }
  const events = given.map(event => ({ ...readIncoming(event), file: event.file }))
  const applied = await applyHalving(context, events)
  return { applied, known: events.length - applied }
}

/** Tries a quarantined event again; why it stays, or null. @throws what is no fault of the event */
export async function retryEvent(context: EventContext, event: FiledEvent, file: string): Promise<string | null> {
  const { writer, workspaceId } = context
  const incoming = { ...readIncoming(event), file: event.file }
  const row = `workspace_id = ${quoteText(workspaceId)} AND file = ${quoteText(file)} AND element = 1`
  try {
    await writer.transaction(async () => {
      await writeEvents(context, [incoming], true)
      await writer.run(`DELETE FROM _quarantine WHERE ${row}`)
    })
    return null
  } catch (fault) {
    if (!isAboutEvents(fault)) throw fault
    const reason = safeReason(fault)
    await writer.transaction(() => writer.run(`UPDATE _quarantine SET reason = ${quoteText(reason)} WHERE ${row}`))
    return reason
  }
}
