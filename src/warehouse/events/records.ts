// Which records an event brings: its row in `webhook_events`, one of its type's own table, and transcripts.
import { EVENT_ID, modelHistory, OWN_RECORDS, transcript, webhookEvent } from '../../catalog/event-records.ts'
import { withoutTypeName } from '../../catalog/event-type.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { messagesOf } from '../../catalog/turns.ts'
import { type IncomingEvent, idOf } from './incoming.ts'
import { coerceEventRecord, type EventRecord } from './stage-given.ts'

function rowOf(event: IncomingEvent): Record<string, unknown> {
  const { id, typeName, receivedMs, payload, removed } = event
  const { createdAt, agentId, convoId, organisationId, clientId } = payload
  return {
    [EVENT_ID]: id,
    type: typeName,
    createdAt,
    receivedAt: receivedMs,
    agentId: idOf(agentId),
    convoId: idOf(convoId),
    organisationId: idOf(organisationId),
    clientId: idOf(clientId),
    payload,
    removed,
  }
}

/** The event itself, and nothing else of it. */
export const eventRecord = (event: IncomingEvent): EventRecord[] => coerceEventRecord(webhookEvent, event, rowOf(event))

/** What the conversation's own is, where it is a list: anything else would take the place of one. */
function ofConversation(type: RecordType, key: string, event: IncomingEvent): EventRecord[] {
  const { payload, conversation } = event
  const list = payload[key]
  if (conversation === null || !Array.isArray(list)) return []
  return coerceEventRecord(type, event, {
    convoId: conversation.id,
    sessionId: payload.sessionId,
    [key]: list,
    messages: messagesOf(list),
  })
}

/** The records of these events by type, in the order in which they are written. */
export function recordsOf(events: readonly IncomingEvent[]): [type: RecordType, records: EventRecord[]][] {
  const own = [...OWN_RECORDS].map(([name, type]): [RecordType, EventRecord[]] => [
    type,
    events
      .filter(event => event.typeName === name)
      .flatMap(event => coerceEventRecord(type, event, { ...withoutTypeName(event.payload), [EVENT_ID]: event.id })),
  ])
  const told = events.filter(({ type }) => type?.tellsConversation === true)
  const all: [RecordType, EventRecord[]][] = [
    [webhookEvent, events.flatMap(eventRecord)],
    ...own,
    [transcript, told.flatMap(event => ofConversation(transcript, 'turns', event))],
    [modelHistory, told.flatMap(event => ofConversation(modelHistory, 'messagesHistory', event))],
  ]
  return all.filter(([, records]) => records.length > 0)
}
