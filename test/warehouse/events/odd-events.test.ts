// Events of any shape: each is stored, none stops the others, and an event that could not be applied is reported and can be
// retried.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, UNKNOWN_EVENT } from '../../../src/catalog/events/event-types.ts'
import { payloadAddress, quarantinedEvent, retryEvent } from '../../../src/warehouse/events/apply.ts'
import { rounds } from '../../tier.ts'
import { AGENT } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'
import { applyTo, eventOf, RECEIVED_MS } from './events-in.ts'

const app = temporaryWarehouse()

const FIELDS = [
  ...new Set(EVENT_TYPES.flatMap(({ fields }) => Object.keys(fields))),
  'createdAt',
  '__proto__',
  '__event',
  '__extra',
  '',
]
const LIGHT = [
  'state',
  'tags',
  'lastModified',
  'crmActivities',
  'csat',
  'tokenUsage',
  'messagesNum',
  'ID',
  'unheard',
  'Unheard',
]

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    '\u0000',
    '\ud800',
    '\ufeff',
    "'; DROP TABLE conversations; --",
    1e308,
    -0,
    2 ** 70,
    '9'.repeat(400),
    [],
    {},
    null,
  ),
)
const light = fc.dictionary(fc.constantFrom(...LIGHT), odd)
const payload = fc.record(
  Object.fromEntries(FIELDS.map(field => [field, field === 'lightConvoData' ? fc.oneof(odd, light) : odd])),
  { requiredKeys: [] },
)
const ids = fc.record({
  agentId: fc.constantFrom(AGENT, 'ünïcode', 7),
  convoId: fc.constantFrom('c1', 'a,b', 8, '\ufeff'),
})

const oddEvent = fc
  .record({
    type: fc.constantFrom(...EVENT_TYPES.map(({ name }) => name), UNKNOWN_EVENT),
    payload,
    ids,
    withIds: fc.boolean(),
  })
  .map(({ type, payload, ids, withIds }) => eventOf(type, { ...payload, ...(withIds && ids) }))

describe('events of any shape', () => {
  it('are all stored, each once, and every table can be read', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(oddEvent, { minLength: 20, maxLength: 40 }), async events => {
        const workspace = app.workspace()
        await applyTo(workspace, ...events)
        await applyTo(workspace, ...events)
        const kept = await workspace.rows('webhook_events', 'event_id')
        expect(kept.map(row => row.event_id)).toEqual([...new Set(events.map(({ id }) => id))].sort())
        expect(await workspace.rows('_quarantine', 'reason')).toEqual([])
        const [row] = await workspace.rows(
          'conversations',
          'count(*) = count(DISTINCT (agent_id, conversation_id)) AS once',
        )
        expect(row).toEqual({ once: true })
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 1, deep: 60 }) },
    )
  })
})

describe('an id that begins with a byte order mark', () => {
  it('differs from the id without it, and its events change its own row', async () => {
    const workspace = app.workspace()
    const stateEvent = (convoId: string, state: string) =>
      eventOf('conversation_updated', { agentId: AGENT, convoId, createdAt: RECEIVED_MS, lightConvoData: { state } })
    await applyTo(workspace, stateEvent('\ufeff', 'alone'), stateEvent('\ufeffc1', 'with'), stateEvent('c1', 'without'))
    expect(await workspace.rows('conversations', 'hex(conversation_id) AS id, state')).toEqual([
      { id: '6331', state: 'without' },
      { id: 'EFBBBF', state: 'alone' },
      { id: 'EFBBBF6331', state: 'with' },
    ])
    expect(await workspace.rows('_quarantine', 'reason')).toEqual([])
  })
})

describe('an event that was quarantined', () => {
  it('is applied when it is retried', async () => {
    const workspace = app.workspace()
    const { writer } = app.warehouse
    const event = eventOf('message_received', {
      agentId: AGENT,
      convoId: 'c1',
      createdAt: RECEIVED_MS,
      messageContent: 'hi',
    })
    await applyTo(workspace, event)
    // As if everything but the event itself had been rejected.
    const here = `workspace_id = '${workspace.id}'`
    for (const table of ['messages_received', 'conversations']) await writer.run(`DELETE FROM ${table} WHERE ${here}`)
    const file = `${event.file}#${event.id}`
    await writer.run(
      `INSERT INTO _quarantine VALUES ('${workspace.id}', 'webhook_event', '${file}', 1, 'refused', now())`,
    )
    const address = await payloadAddress(writer, workspace.id, quarantinedEvent(file))
    expect(address).toEqual({ file: event.file, offset: event.offset })
    expect(await retryEvent(workspace.context, event, file)).toBeNull()
    expect(await workspace.rows('messages_received', 'message_content')).toEqual([{ message_content: 'hi' }])
    expect(await workspace.rows('webhook_events', 'count(*)::INTEGER AS n')).toEqual([{ n: 1 }])
    expect(await workspace.rows('_quarantine', 'reason')).toEqual([])
  })
})
