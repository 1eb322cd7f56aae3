import { describe, expect, it } from 'vitest'
import { AGENT, landOrganization, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'
import { applyTo, eventOf, RECEIVED_MS } from './events-in.ts'

const app = temporaryWarehouse()

const AT = SENT_AT_MS + 1_000
const of = { agentId: AGENT, agentName: 'Ada', convoId: 'c1', createdAt: AT }

describe('an event', () => {
  it('of any type has a row in webhook_events, with the address of its payload', async () => {
    const workspace = app.workspace()
    const payload = { createdAt: AT, agentId: 7, odd: [1, { deep: null }], big: 1e300 }
    await applyTo(workspace, { ...eventOf('unknown', payload), file: 'ws/drained/2026-11-19.ndjson', offset: 2 ** 40 })
    const what = 'type, created_at, received_at, agent_id, conversation_id, payload_file, payload_offset AS at, _source'
    expect(await workspace.rows('webhook_events', what)).toEqual([
      {
        type: 'unknown',
        created_at: new Date(AT).toISOString().replace('T', ' ').replace('.000Z', '+00'),
        received_at: new Date(RECEIVED_MS).toISOString().replace('T', ' ').replace('.000Z', '+00'),
        agent_id: '7',
        conversation_id: null,
        payload_file: 'ws/drained/2026-11-19.ndjson',
        at: String(2 ** 40),
        _source: 'webhook',
      },
    ])
  })

  it('that was delivered more than once is applied once, also when it was applied before', async () => {
    const workspace = app.workspace()
    const event = eventOf('message_received', { ...of, messageContent: 'hello', channel: 'webchat' })
    expect(await applyTo(workspace, event, { ...event, receivedAtMs: RECEIVED_MS + 1 })).toEqual({
      applied: 1,
      known: 1,
    })
    expect(await applyTo(workspace, { ...event, receivedAtMs: RECEIVED_MS + 86_400_000 })).toEqual({
      applied: 0,
      known: 1,
    })
    expect(await workspace.rows('messages_received', 'message_content')).toEqual([{ message_content: 'hello' }])
  })

  it('without a valid time of creation counts from its receipt, and is recognized when it is delivered again', async () => {
    const workspace = app.workspace()
    const event = eventOf('message_received', { ...of, createdAt: 1e20, messageContent: 'when?' })
    await applyTo(workspace, event)
    expect(await applyTo(workspace, { ...event, receivedAtMs: RECEIVED_MS + 9e8 })).toEqual({ applied: 0, known: 1 })
    expect(await workspace.rows('webhook_events', 'created_at, epoch_ms(_version) AS version')).toEqual([
      { created_at: null, version: String(RECEIVED_MS) },
    ])
  })
})

describe('a resource', () => {
  it('that was fetched keeps its fetched values, and is fetched again when an event has changed it', async () => {
    const workspace = app.workspace()
    const fetched = async (name: string, sentAtMs: number) =>
      workspace.load(await landOrganization(workspace.landing, { id: 'o1', data: { ID: 'o1', name }, sentAtMs }))
    const event = (change: string, createdAt: number) =>
      eventOf(`organisation_${change}`, { organisationId: 'o1', organisationName: 'new', createdAt, operation: change })
    const shown = () =>
      workspace.rows('organizations', 'name, epoch_ms(_dirty_since) AS changed, epoch_ms(_deleted_at) AS gone')
    await applyTo(workspace, event('created', AT - 10))
    expect(await shown()).toEqual([{ name: 'new', changed: null, gone: null }])
    await fetched('as fetched', AT)
    await applyTo(workspace, event('updated', AT - 5), event('updated', AT + 5))
    expect(await shown()).toEqual([{ name: 'as fetched', changed: String(AT + 5), gone: null }])
    await applyTo(workspace, event('deleted', AT + 10))
    await fetched('fetched before it was deleted', AT + 7)
    expect(await shown()).toEqual([{ name: 'fetched before it was deleted', changed: null, gone: String(AT + 10) }])
    await fetched('there again', AT + 20)
    expect(await shown()).toEqual([{ name: 'there again', changed: null, gone: null }])
  })
})
