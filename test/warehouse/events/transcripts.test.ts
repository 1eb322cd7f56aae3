// Transcripts in the tables: a row for each message, and the record fields that events carry under another name.
import { describe, expect, it } from 'vitest'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'
import { applyTo, eventOf } from './events-in.ts'

const app = temporaryWarehouse()

const AT = SENT_AT_MS + 60_000

const updated = (createdAt: number, more: Record<string, unknown>) =>
  eventOf('conversation_updated', { agentId: AGENT, convoId: 'c1', createdAt, operation: 'updated', ...more })

describe('a transcript', () => {
  it('in the shape of the vendor has a row for each message of a turn, by time, with its session', async () => {
    const workspace = app.workspace()
    const item = (message: string) => ({ type: 'text', item: { type: 'text', payload: { message } } })
    const turns = [
      { from: 'bot', messages: [item('Hello'), item('How can I help?')], ts: 1_768_471_200, session_id: 's1' },
      { from: 'bot', messages: [item('Yes')], ts: 1_768_471_210, session_id: 's1' },
      { from: 'human', messages: [item('Are you open?')], ts: 1_768_471_205, session_id: 's1' },
    ]
    await applyTo(workspace, updated(AT, { turns }))
    const what = `position, turn_position AS turn, message_position AS message, role, text, session_id AS session, epoch(written_at)::INTEGER AS "at"`
    expect(await workspace.rows('conversation_turns', what)).toEqual([
      { position: 1, turn: 1, message: 1, role: 'bot', text: 'Hello', session: 's1', at: 1_768_471_200 },
      { position: 2, turn: 1, message: 2, role: 'bot', text: 'How can I help?', session: 's1', at: 1_768_471_200 },
      { position: 3, turn: 3, message: 1, role: 'human', text: 'Are you open?', session: 's1', at: 1_768_471_205 },
      { position: 4, turn: 2, message: 1, role: 'bot', text: 'Yes', session: 's1', at: 1_768_471_210 },
    ])
    const extra = await workspace.rows('conversation_turns', 'position, extra::VARCHAR AS extra, turn_extra')
    const rest = '{"item":{"type":"text"},"type":"text"}'
    expect(extra).toEqual([1, 2, 3, 4].map(position => ({ position, extra: rest, turn_extra: null })))
  })

  it('keeps every field of a message and of its turn, unknown ones too, in the order of the conversation', async () => {
    const workspace = app.workspace()
    const turns = `[
      {"turnId":"t1","sessionId":"s1","role":"user","type":"text","text":"Hi","timestamp":${AT},"userId":null,"odd":{"a":[1.50,12345678901234567890]}},
      {"id":7,"from":"bot","ts":"2026-11-20T09:00:00+02:00","mood":"calm","messages":[
        {"type":"text","item":{"type":"text","payload":{"message":"One","lang":"en"}},"id":"m1"},
        {"type":"choice","buttons":[{"name":"Yes"}]}]},
      {"role":"assistant","content":[{"type":"text","text":"Two"},{"type":"tool-call","args":{"q":"x"}}],"ts":${AT + 1}},
      {"role":"assistant","content":[{"text":"Three"},{"text":"four"}],"ts":${AT + 2}},
      "Bye", 5]`
    const event = updated(AT, { turns: 'LIST', messagesHistory: 'LIST' })
    const payload = new TextEncoder().encode(new TextDecoder().decode(event.payload).replaceAll('"LIST"', turns))
    await applyTo(workspace, { ...event, payload })
    const what = `position, turn_position AS turn, turn_id AS id, session_id AS session, role, text, epoch_ms(written_at)::DOUBLE AS ms,
      extra::VARCHAR AS extra, turn_extra::VARCHAR AS around`
    const none = { id: null, session: null, role: null, text: null, ms: null, extra: null, around: null }
    const expected = [
      {
        ...{ ...none, turn: 2, id: '7', role: 'bot', text: 'One', ms: Date.UTC(2026, 10, 20, 7) },
        extra: '{"type":"text","item":{"type":"text","payload":{"lang":"en"}},"id":"m1"}',
        around: '{"id":7,"ts":"2026-11-20T09:00:00+02:00","mood":"calm"}',
      },
      {
        ...{ ...none, turn: 2, id: '7', role: 'bot', ms: Date.UTC(2026, 10, 20, 7) },
        extra: '{"type":"choice","buttons":[{"name":"Yes"}]}',
      },
      {
        ...{ ...none, turn: 1, id: 't1', session: 's1', role: 'user', text: 'Hi', ms: AT },
        extra: '{"type":"text","userId":null,"odd":{"a":[1.50,12345678901234567890]}}',
      },
      {
        ...{ ...none, turn: 3, role: 'assistant', text: 'Two', ms: AT + 1 },
        extra: '{"content":[{"type":"text"},{"type":"tool-call","args":{"q":"x"}}]}',
      },
      {
        ...{ ...none, turn: 4, role: 'assistant', text: 'Three\nfour', ms: AT + 2 },
        extra: '{"content":[{"text":"Three"},{"text":"four"}]}',
      },
      { ...none, turn: 5, text: 'Bye' },
      { ...none, turn: 6, text: '5', extra: '5' },
    ].sort((a, b) => Number(a.ms ?? AT + 3) - Number(b.ms ?? AT + 3))
    for (const table of ['conversation_turns', 'conversation_model_messages'])
      expect(await workspace.rows(table, what)).toEqual(expected.map((row, index) => ({ position: index + 1, ...row })))
  })

  it('for the model has the text of contents that are lists of parts', async () => {
    const workspace = app.workspace()
    const messagesHistory = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ text: 'Hello' }, { text: 'there' }] },
    ]
    await applyTo(workspace, updated(AT, { messagesHistory }))
    expect(await workspace.rows('conversation_model_messages', 'position, role, text')).toEqual([
      { position: 1, role: 'system', text: 'Be brief.' },
      { position: 2, role: 'user', text: 'Hi' },
      { position: 3, role: 'assistant', text: 'Hello\nthere' },
    ])
  })
})

describe('vapi', () => {
  it('is read into ext_ columns from exports and from events, and its unknown fields are kept', async () => {
    const workspace = app.workspace()
    const records = [
      { ID: 'c1', vapi: { cost: 1.5, callStatus: 'ended', newField: 'x' } },
      { ID: 'c2', ext: { cost: 2 } },
      { ID: 'c3', vapi: { cost: 'much' } },
    ]
    await workspace.load(await landConversations(workspace.landing, { records, sentAtMs: SENT_AT_MS }))
    const what = 'conversation_id AS id, ext_cost AS cost, ext_call_status AS status, extra::VARCHAR AS extra'
    expect(await workspace.rows('conversations', what)).toEqual([
      { id: 'c1', cost: 1.5, status: 'ended', extra: '{"vapi":{"newField":"x"}}' },
      { id: 'c2', cost: 2, status: null, extra: null },
      { id: 'c3', cost: null, status: null, extra: '{"vapi":{"cost":"much"}}' },
    ])
    expect(await workspace.rows('_drift', 'path')).toEqual([{ path: 'vapi.newField' }])
    expect(await workspace.rows('_issues', 'path')).toEqual([{ path: 'vapi.cost' }])
    await applyTo(workspace, updated(AT, { lightConvoData: { vapi: { cost: 3, callStatus: 'failed' } } }))
    expect((await workspace.rows('conversations', what))[0]).toMatchObject({ cost: 3, status: 'failed' })
  })
})

describe('handoffs', () => {
  it('keep the ids and the keys of their teams in separate rows, because the two lists may not be parallel', async () => {
    const workspace = app.workspace()
    const handoffHistory = [{ teamIds: ['t1', 't2'], teamKeys: ['sales'] }, { teamKeys: ['support', 'billing'] }]
    await workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'c1', handoffHistory }] }))
    const where = 'handoff_position AS handoff, position'
    expect(await workspace.rows('conversation_handoff_team_ids', `${where}, team_id AS id`)).toEqual([
      { handoff: 1, position: 1, id: 't1' },
      { handoff: 1, position: 2, id: 't2' },
    ])
    expect(await workspace.rows('conversation_handoff_team_keys', `${where}, team_key AS key`)).toEqual([
      { handoff: 1, position: 1, key: 'sales' },
      { handoff: 2, position: 1, key: 'support' },
      { handoff: 2, position: 2, key: 'billing' },
    ])
  })
})

describe('the channel of a conversation', () => {
  const CASES = [
    { exported: { userPlatform: 'WhatsApp' }, updated: { origin: { kind: 'ad' } }, channel: 'whatsapp' },
    { exported: { userPlatform: 'WhatsApp' }, updated: { origin: 'instagram' }, channel: 'whatsapp' },
    { exported: { origin: 'Web-Chat' }, updated: { userPlatform: null }, channel: 'webchat' },
    { exported: { origin: 'web-chat' }, updated: { userPlatform: 'voice' }, channel: 'voice' },
    { exported: { userPlatform: 'voice', origin: 'ad' }, updated: { stage: 'won' }, channel: 'voice' },
  ]

  it('comes from the platform before the origin, in exports and events, and an event that names it takes precedence over both', async () => {
    const workspace = app.workspace()
    const records = CASES.map(({ exported }, index) => ({ ID: `c${index}`, ts: SENT_AT_MS, ...exported }))
    await workspace.load(await landConversations(workspace.landing, { records }))
    const applyAll = (createdAt: number, more: (one: (typeof CASES)[number]) => Record<string, unknown>) =>
      applyTo(workspace, ...CASES.map((one, index) => updated(createdAt, { convoId: `c${index}`, ...more(one) })))
    const channels = async () =>
      (await workspace.rows('conversations', 'conversation_id, channel')).map(row => row.channel)
    await applyAll(AT, one => ({ lightConvoData: one.updated }))
    expect(await channels()).toEqual(CASES.map(({ channel }) => channel))
    await applyAll(AT + 1, one => ({ channel: 'web-chat', lightConvoData: one.updated }))
    expect(await channels()).toEqual(CASES.map(() => 'webchat'))
    await applyAll(AT + 2, () => ({ lightConvoData: { origin: 'sms' } }))
    expect(await channels()).toEqual(CASES.map(() => 'webchat'))
  })
})
