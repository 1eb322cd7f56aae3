// The records that an event contains: its row in `webhook_events`, one in its type's own table, and transcripts. They
// are few and of any shape, so they are coerced one by one, and then staged like records of pages.

import { EVENT_ID, modelHistory, OWN_RECORDS, transcript, webhookEvent } from '../../catalog/events/event-records.ts'
import { withoutTypeName } from '../../catalog/events/event-types.ts'
import { messagesOf } from '../../catalog/events/turns.ts'
import { type CoercedRecord, coerceRecord } from '../../catalog/inspection/coerce.ts'
import { quoteText } from '../../catalog/layout.ts'
import { type RecordType, sentFields } from '../../catalog/shape.ts'
import { recordStruct } from '../../catalog/staging.ts'
import { iso, type Writer } from '../connection.ts'
import { STAGE } from '../load/stage.ts'
import { type IncomingEvent, idOf, orderedTimeMs } from './incoming.ts'

/** A record, and the event that contains it. */
export interface EventRecord extends Omit<CoercedRecord, 'record'> {
  event: IncomingEvent
  /** JSON of the record, with declared types only. */
  record: string
}

/** Returns the records of these events by type, in the order in which they are written. */
export function recordsOf(events: readonly IncomingEvent[]): [type: RecordType, records: EventRecord[]][] {
  const own = [...OWN_RECORDS].map(([name, type]): [RecordType, EventRecord[]] => [
    type,
    events
      .filter(event => event.typeName === name)
      .flatMap(event => coerced(type, event, { ...withoutTypeName(event.payload), [EVENT_ID]: event.id })),
  ])
  const ofConversations = events.filter(({ type }) => type?.reportsConversation === true)
  const all: [RecordType, EventRecord[]][] = [
    [webhookEvent, events.flatMap(eventRecord)],
    ...own,
    [transcript, ofConversations.flatMap(event => listRecord(transcript, 'turns', event))],
    [modelHistory, ofConversations.flatMap(event => listRecord(modelHistory, 'messagesHistory', event))],
  ]
  return all.filter(([, records]) => records.length > 0)
}

/** Returns the event's row in `webhook_events` alone. */
export function eventRecord(event: IncomingEvent): EventRecord[] {
  const { id, typeName, receivedMs, payload, removed, file, offset } = event
  const { createdAt, agentId, convoId, organisationId, clientId } = payload
  return coerced(webhookEvent, event, {
    [EVENT_ID]: id,
    type: typeName,
    createdAt,
    receivedAt: receivedMs,
    agentId: idOf(agentId),
    convoId: idOf(convoId),
    organisationId: idOf(organisationId),
    clientId: idOf(clientId),
    resource: resourceOf(event),
    payloadFile: file,
    payloadOffset: offset,
    removed,
  })
}

/** Returns the reported fields of a resource that fill columns. */
function resourceOf({ type, payload }: IncomingEvent): Record<string, unknown> | null {
  if (!type?.reportedResource) return null
  const fields = Object.values(type.reportedResource.columns).filter(field => Object.hasOwn(payload, field))
  return Object.fromEntries(fields.map(field => [field, payload[field]]))
}

/** Returns a conversation's transcript or model history. Only lists count, since any other value would replace a stored list. */
function listRecord(type: RecordType, key: string, event: IncomingEvent): EventRecord[] {
  const { payload, conversation } = event
  const list = payload[key]
  if (conversation === null || !Array.isArray(list)) return []
  return coerced(type, event, {
    convoId: conversation.id,
    sessionId: payload.sessionId,
    messages: messagesOf(list, event.write),
  })
}

/** Returns the coerced record; none if it has no id. */
function coerced(type: RecordType, event: IncomingEvent, record: Record<string, unknown>): EventRecord[] {
  const found = coerceRecord(type, record, { list: '', atMs: event.receivedMs })
  if (found === null) return []
  return [{ ...found, event, record: event.write(found.record) }]
}

/** Fills the stage with records of one type. */
export async function stageEventRecords(
  writer: Writer,
  type: RecordType,
  records: readonly EventRecord[],
): Promise<void> {
  await writer.run(
    'CREATE OR REPLACE TEMP TABLE event_records (agent VARCHAR, as_of VARCHAR, fetched_at VARCHAR, record VARCHAR)',
  )
  await writer.appendTexts(
    'event_records',
    records.map(({ event, record }) => [
      event.conversation?.agentId ?? null,
      iso(event.createdMs),
      iso(orderedTimeMs(event)),
      record,
    ]),
  )
  const struct = quoteText(JSON.stringify(recordStruct(sentFields(type), {})))
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${STAGE} AS
    SELECT 0 AS "__file", agent AS "__agent", as_of::TIMESTAMPTZ AS "__as_of", fetched_at::TIMESTAMPTZ AS "__fetched", NULL::VARCHAR AS "__kind",
      place AS "__element", d.* FROM (SELECT *, rowid AS place, from_json(record, ${struct}) AS d FROM event_records)`)
}
