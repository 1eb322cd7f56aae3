// The records of webhook events: every event in `webhook_events`, a table per type that declares one, transcripts (from
// `conversation_updated`), and clients, which only events report.

import { any, count, elements, lift, type RecordType, text, time } from '../shape.ts'
import { COMMON_EVENT_FIELDS, EVENT_TYPES, type EventType } from './event-types.ts'

/** Key of the event's id in its record. It cannot clash with a field's column in the stage, since none of those starts with `__`. */
export const EVENT_ID = '__event'

const eventId = { key: EVENT_ID, column: 'event_id' }
const idField = { [EVENT_ID]: text('Id of the event', { column: 'event_id' }) }

/** Every event, of any type. */
export const webhookEvent: RecordType = {
  name: 'webhook_event',
  table: 'webhook_events',
  about: 'One row for each webhook event received, however often it was delivered',
  id: eventId,
  fact: true,
  fields: {
    ...idField,
    type: text('Type, as declared; `unknown` where it cannot be determined, `unreadable` where the event is no JSON'),
    createdAt: time('When it happened, as the event says'),
    receivedAt: time('When it was received first'),
    agentId: text('Id of the agent'),
    convoId: text('Id of the conversation', { column: 'conversation_id' }),
    organisationId: text('Id of the organization', { column: 'organization_id' }),
    clientId: text('Id of the client'),
    resource: any('What it reports of an agent, an organization or a client, as sent; NULL for other events', {
      pii: 'identity',
    }),
    payloadFile: text('File of the payload in the spool, without `.gz`; NULL where that file is lost'),
    payloadOffset: count('Offset of the line with the payload in that file, decompressed, in bytes'),
    removed: any('Number of secrets that were removed before it was stored, by path; NULL for none', {
      pii: 'content',
    }),
  },
}

const ownTable = ({ name, about, fields, table }: EventType & { table: string }): RecordType => ({
  name,
  table,
  about: `${about}: one row for each time`,
  id: eventId,
  fact: true,
  fields: { ...idField, ...COMMON_EVENT_FIELDS, ...fields },
})

/** The record types of event types that have their own table. */
export const OWN_RECORDS: ReadonlyMap<string, RecordType> = new Map(
  EVENT_TYPES.flatMap(({ table, ...type }) => (table === undefined ? [] : [[type.name, ownTable({ ...type, table })]])),
)

/** Options of record types about a conversation: each newer event with the record replaces the stored one. */
const fromNewestEvent = {
  id: { key: 'convoId', column: 'conversation_id' },
  perAgent: true,
  selectable: true,
} as const

const sessionId = text('Session of the event')

const TURN_EXTRA = 'What no other column holds of a turn with a list of messages, as sent: beside its first message'

/** Declares the child table of the messages in a list of turns (`turns.ts`). */
const messages = (table: string, about: string) =>
  any('Messages extracted from the list', {
    hidden: true,
    unnest: elements(table, about, [
      lift('turn_position', 'position', ['turnPosition'], 'Position of its turn in the list as sent, from 1'),
      lift('message_position', 'position', ['messagePosition'], 'Position of the message in its turn, from 1'),
      lift('turn_id', 'text', ['turnId'], 'Id of the turn'),
      lift('session_id', 'text', ['sessionId'], 'Session of the turn'),
      lift('role', 'text', ['role'], 'Who wrote it', { pii: 'word' }),
      lift('text', 'text', ['text'], 'What was said', { pii: 'content' }),
      lift('written_at', 'time', ['at'], 'When it was written'),
      lift('extra', 'json', ['extra'], 'What no other column holds of the message, as sent', { pii: 'content' }),
      lift('turn_extra', 'json', ['turnExtra'], TURN_EXTRA, { pii: 'content' }),
    ]),
  })

export const transcript: RecordType = {
  name: 'transcript',
  table: 'conversation_transcripts',
  about: 'One row for each conversation whose turns an event has reported',
  ...fromNewestEvent,
  fields: {
    convoId: text('Id of the conversation', { column: 'conversation_id' }),
    sessionId,
    messages: messages('conversation_turns', 'One row for each message of a conversation, by time'),
  },
}

export const modelHistory: RecordType = {
  name: 'model_history',
  table: 'conversation_model_histories',
  about: 'One row for each conversation whose model messages an event has reported',
  ...fromNewestEvent,
  fields: {
    convoId: text('Id of the conversation', { column: 'conversation_id' }),
    sessionId,
    messages: messages('conversation_model_messages', 'One row for each message as the model saw it'),
  },
}

const client: RecordType = {
  name: 'client',
  table: 'clients',
  about: 'One row for each client of an organization that an event has reported',
  id: { key: 'clientId', column: 'client_id' },
  deletable: true,
  fields: {
    clientId: text('Id of the client'),
    organisationId: text('Id of the organization', { column: 'organization_id' }),
    organisationName: text('Name of the organization', { column: 'organization_name' }),
    clientName: text('Name of the client', { pii: 'identity' }),
    clientEmail: text('Email address of the client', { pii: 'identity' }),
  },
}

export const EVENT_RECORDS: readonly RecordType[] = [
  webhookEvent,
  ...OWN_RECORDS.values(),
  transcript,
  modelHistory,
  client,
]
