import { describe, expect, it } from 'vitest'
import { AGENT, landConversations, landOrganization, SENT_AT_MS } from '../landed-pages.ts'
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
        created_at: new Date(AT).toISOString().replace('T', ' ').slice(0, 19),
        received_at: new Date(RECEIVED_MS).toISOString().replace('T', ' ').slice(0, 19),
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

describe('the table of an event type', () => {
  it('contains leads, forms with their answers, delegations and bug reports', async () => {
    const workspace = app.workspace()
    await applyTo(
      workspace,
      eventOf('lead_captured', {
        agentId: AGENT,
        createdAt: AT,
        leadName: 'Eve',
        leadEmail: 'e@example.com',
        channel: 'web-chat',
      }),
      eventOf('form_submitted', {
        ...of,
        formType: 'ui_engine_form',
        formData: { name: 'Eve', 'how many?': 3, more: [1] },
      }),
      eventOf('chat_delegated', {
        ...of,
        assignedToUserId: 'u1',
        customerName: 'Eve',
        channel: 'whatsapp',
        operation: 'delegated',
      }),
      eventOf('bug_reported', { ...of, bugDescription: 'it lies', reportedByUserId: 'u2', operation: 'reported' }),
    )
    expect(await workspace.rows('leads', 'agent_id, lead_name, channel')).toEqual([
      { agent_id: AGENT, lead_name: 'Eve', channel: 'webchat' },
    ])
    expect(await workspace.rows('form_submissions', 'conversation_id, form_type')).toEqual([
      { conversation_id: 'c1', form_type: 'ui_engine_form' },
    ])
    expect(await workspace.rows('form_submission_answers', 'question, answer')).toEqual([
      { question: 'how many?', answer: '3' },
      { question: 'more', answer: '[1]' },
      { question: 'name', answer: 'Eve' },
    ])
    expect(await workspace.rows('chat_delegations', 'assigned_to_user_id, customer_name')).toEqual([
      { assigned_to_user_id: 'u1', customer_name: 'Eve' },
    ])
    expect(await workspace.rows('bug_reports', 'bug_description')).toEqual([{ bug_description: 'it lies' }])
  })

  it('keeps values of a wrong type and undeclared fields in extra, and both are reported', async () => {
    const workspace = app.workspace()
    await applyTo(workspace, eventOf('message_received', { ...of, messageContent: { html: '<p>' }, unheard: 1 }))
    const [row] = await workspace.rows('messages_received', 'message_content, extra')
    expect(row!.message_content).toBeNull()
    expect(JSON.parse(String(row!.extra))).toMatchObject({ messageContent: { html: '<p>' }, unheard: 1 })
    expect(await workspace.rows('_issues', 'record, path, issue')).toEqual([
      { record: 'message_received', path: 'messageContent', issue: 'wrong type' },
    ])
    expect(await workspace.rows('_drift', 'record, path')).toContainEqual({
      record: 'message_received',
      path: 'unheard',
    })
  })
})

const updated = (createdAt: number, more: Record<string, unknown>, convoId = 'c1') =>
  eventOf('conversation_updated', { agentId: AGENT, convoId, createdAt, operation: 'updated', ...more })

describe('conversation_updated', () => {
  it('patches the record with its fields, and marks it as changed', async () => {
    const workspace = app.workspace()
    await workspace.load(
      await landConversations(workspace.landing, {
        records: [{ ID: 'c1', state: 'ai-chatting', stage: 'new' }],
        sentAtMs: SENT_AT_MS,
      }),
    )
    await applyTo(workspace, updated(AT, { channel: 'web-chat', lightConvoData: { ID: 'other', state: 'ended_chat' } }))
    const what = 'conversation_id, state, stage, channel, _complete, epoch_ms(_dirty_since) AS dirty'
    expect(await workspace.rows('conversations', what)).toEqual([
      {
        conversation_id: 'c1',
        state: 'ended_chat',
        stage: 'new',
        channel: 'webchat',
        _complete: true,
        dirty: String(AT),
      },
    ])
    expect(await workspace.rows('conversation_observations', 'source, state')).toEqual([
      { source: 'export', state: 'ai-chatting' },
      { source: 'webhook', state: 'ended_chat' },
    ])
  })

  it('keeps the newest transcript in any order of arrival', async () => {
    const workspace = app.workspace()
    const turn = (text: string) => ({ turnId: `t-${text}`, sessionId: 's', role: 'user', text, timestamp: AT })
    const newer = updated(AT + 1, { turns: [turn('a'), turn('b')], messagesHistory: [{ role: 'user', content: 'b' }] })
    await applyTo(workspace, newer)
    await applyTo(workspace, updated(AT, { turns: [turn('old')] }))
    expect(await workspace.rows('conversation_turns', 'position, role, text')).toEqual([
      { position: 1, role: 'user', text: 'a' },
      { position: 2, role: 'user', text: 'b' },
    ])
    expect(await workspace.rows('conversation_model_messages', 'text')).toEqual([{ text: 'b' }])
    await applyTo(workspace, updated(AT + 2, { turns: [turn('c')] }))
    expect(await workspace.rows('conversation_turns', 'text')).toEqual([{ text: 'c' }])
    expect(await workspace.rows('conversation_model_messages', 'text')).toEqual([{ text: 'b' }])
  })

  it('about a conversation that was never exported creates an incomplete row', async () => {
    const workspace = app.workspace()
    await applyTo(workspace, eventOf('message_received', { ...of, messageContent: 'first', channel: 'whatsapp' }))
    expect(
      await workspace.rows('conversations', 'channel, _complete, _source, epoch_ms(_dirty_since) AS dirty'),
    ).toEqual([{ channel: 'whatsapp', _complete: false, _source: 'webhook', dirty: String(AT) }])
  })
})

describe('a resource', () => {
  it('that was deleted is marked, not removed, and so are the clients of an organization', async () => {
    const workspace = app.workspace()
    const client = {
      organisationId: 'o1',
      organisationName: 'Acme',
      clientId: 'k1',
      clientName: 'Kim',
      clientEmail: 'k@example.com',
    }
    await applyTo(
      workspace,
      eventOf('client_created', { ...client, createdAt: AT, operation: 'created' }),
      eventOf('client_updated', { ...client, clientName: 'Kim R.', createdAt: AT + 5, operation: 'updated' }),
      eventOf('client_created', {
        ...client,
        clientId: 'k2',
        organisationId: 'o2',
        createdAt: AT,
        operation: 'created',
      }),
    )
    await applyTo(
      workspace,
      eventOf('organisation_deleted', { organisationId: 'o1', createdAt: AT + 10, operation: 'deleted' }),
    )
    await applyTo(
      workspace,
      eventOf('client_updated', { ...client, clientName: 'late', createdAt: AT + 1, operation: 'updated' }),
    )
    expect(
      await workspace.rows('clients', 'client_id, organization_id, client_name, epoch_ms(_deleted_at) AS gone'),
    ).toEqual([
      { client_id: 'k1', organization_id: 'o1', client_name: 'Kim R.', gone: String(AT + 10) },
      { client_id: 'k2', organization_id: 'o2', client_name: 'Kim', gone: null },
    ])
  })

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

describe('an observation of an event', () => {
  it('has usage by model and every cost that the event carried', async () => {
    const workspace = app.workspace()
    const usagePerModel = { 'model-a': { inputTokens: 7, usd: 0.5 }, 'model-b': { inputTokens: 3 } }
    const detailedCost = { totalCreditsConsumed: 4, speechGenCost: 1, transcriberCost: 2, llmCost: 3 }
    const lightConvoData = { tokenUsage: { cumulativeUsd: 0.5, usagePerModel }, detailedCost, ext: { cost: 9 } }
    await applyTo(workspace, eventOf('conversation_updated', { ...of, lightConvoData }))
    const costs = 'detailed_cost_speech_gen_cost AS s, detailed_cost_transcriber_cost AS t, detailed_cost_llm_cost AS l'
    const [seen] = await workspace.rows(
      'conversation_observations',
      `${costs}, ext_cost AS e, token_usage_per_model AS m`,
    )
    expect({ ...seen, m: JSON.parse(String(seen!.m)) }).toEqual({ s: 1, t: 2, l: 3, e: 9, m: usagePerModel })
  })
})
