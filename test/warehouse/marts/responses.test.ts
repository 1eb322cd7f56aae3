// Transcripts and waiting times of a handful of conversations, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import type { ServiceLevel } from '../../../src/core/response-rules.ts'
import { MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyResponseRules } from '../../../src/warehouse/marts/response-rules.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landAgents, landConversations } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** A Friday: in Berlin it is 16:30, in the summer two hours ahead of UTC. */
const START = Date.UTC(2026, 8, 4, 14, 30)
const at = (minutes: number): number => START + minutes * MINUTE
const time = (minutes: number): string => new Date(at(minutes)).toISOString().replace('T', ' ').replace('.000Z', '+00')

const CONVERSATIONS = [
  {
    ...{
      ID: 'handed',
      userPlatform: 'whatsapp',
      firstMessageTS: at(0),
      lastModified: at(200),
      state: 'human-chatting',
    },
    assignedTo: { userId: 'ada', name: 'Ada' },
    handoffHistory: [{ requestedAt: at(3), acceptedAt: at(10), acceptedBy: 'ada' }],
  },
  {
    ...{ ID: 'resolved', userPlatform: 'webchat', firstMessageTS: at(0), lastModified: at(200) },
    ...{ isResolved: true, resolvedAt: at(90), resolvedBy: 'bob', state: 'ended_chat' },
  },
  { ID: 'silent', firstMessageTS: at(0), lastModified: at(200) },
  { ID: 'left', userPlatform: 'webchat', firstMessageTS: at(0), lastModified: at(200), state: 'ended_chat' },
]

/** Messages of the same time are in the order of the list; one without a time has that of the message before it. */
const TURNS = {
  handed: [
    { turnId: 't1', role: 'assistant', text: 'Welcome', timestamp: at(0) },
    { turnId: 't2', role: 'user', text: 'Where is my refund?', timestamp: at(1) },
    { turnId: 't3', role: 'user', text: 'Hello?', timestamp: at(1) },
    { turnId: 't4', role: 'assistant', text: 'I look', timestamp: at(2) },
    { turnId: 't5', role: 'system', text: 'handed over', timestamp: at(3) },
    { turnId: 't6', role: 'user', text: 'Now?', timestamp: at(4) },
    { turnId: 't7', role: 'human_agent', text: 'It is on its way', timestamp: at(64), userId: 'eve' },
    { turnId: 't8', role: 'human_agent', text: 'Anything else?', timestamp: at(65) },
    { turnId: 't9', role: 'user', text: 'No', timestamp: at(100) },
  ],
  resolved: [{ turnId: 'u1', role: 'user', text: 'Thanks', timestamp: at(60) }],
  left: [{ turnId: 'v1', role: 'user', text: 'Hello?', timestamp: at(5) }],
}

let workspace: Workspace

const refresh = () => refreshMarts(app.warehouse.writer)

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'Europe/Berlin' })
  const { landing, load } = workspace
  await load(await landAgents(landing, { agents: [{ ID: AGENT, title: 'Support' }] }))
  await load(await landConversations(landing, { records: CONVERSATIONS }))
  for (const [convoId, turns] of Object.entries(TURNS))
    await applyTo(workspace, eventOf('conversation_updated', { agentId: AGENT, convoId, createdAt: at(201), turns }))
  await refresh()
})

describe('fct_turns', () => {
  it('has the messages in their order, with who wrote them and the time since the message before', async () => {
    const what = `position, sender, role, sender_id, sender_name, text, characters::INTEGER AS characters, previous_sender, seconds_since_previous AS since`
    const rows = await workspace.rows(
      `(SELECT * FROM marts.fct_turns WHERE conversation_id = 'handed' AND agent_title = 'Support' AND channel = 'whatsapp' AND day = '2026-09-04')`,
      what,
    )
    const turn = (position: number, sender: string | null, text: string, rest: object) => ({
      ...{ position, sender, text, characters: text.length, sender_id: null, sender_name: null },
      ...rest,
    })
    expect(rows).toEqual([
      turn(1, 'agent', 'Welcome', { role: 'assistant', previous_sender: null, since: null }),
      turn(2, 'contact', 'Where is my refund?', { role: 'user', previous_sender: 'agent', since: 60 }),
      turn(3, 'contact', 'Hello?', { role: 'user', previous_sender: 'contact', since: 0 }),
      turn(4, 'agent', 'I look', { role: 'assistant', previous_sender: 'contact', since: 60 }),
      turn(5, null, 'handed over', { role: 'system', previous_sender: 'agent', since: 60 }),
      turn(6, 'contact', 'Now?', { role: 'user', previous_sender: null, since: 60 }),
      turn(7, 'person', 'It is on its way', {
        ...{ role: 'human_agent', previous_sender: 'contact', since: 3_600, sender_id: 'eve' },
      }),
      turn(8, 'person', 'Anything else?', {
        ...{ role: 'human_agent', previous_sender: 'person', since: 60, sender_id: 'ada', sender_name: 'Ada' },
      }),
      turn(9, 'contact', 'No', { role: 'user', previous_sender: 'person', since: 2_100 }),
    ])
  })

  it('gives each message a key of its own', async () => {
    const [row] = await workspace.rows(
      'marts.fct_turns',
      'count(*)::INTEGER AS rows, count(DISTINCT turn_key)::INTEGER AS keys',
    )
    expect(row).toEqual({ rows: 11, keys: 11 })
  })
})

describe('a message that names no person', () => {
  it('is of the last of those who accepted handoffs at the same time', async () => {
    const place = app.workspace()
    const { landing, load, rows } = place
    const accepted = (acceptedBy: string) => ({ requestedAt: at(0), acceptedAt: at(1), acceptedBy })
    const handoffHistory = ['ada', 'bob', 'amy'].map(accepted)
    await load(await landConversations(landing, { records: [{ ID: 'c', lastModified: at(9), handoffHistory }] }))
    const turns = ['user', 'human_agent'].map((role, index) => ({ role, text: 'Hello', timestamp: at(1 + index) }))
    const event = eventOf('conversation_updated', { agentId: AGENT, convoId: 'c', createdAt: at(9), turns })
    await applyTo(place, event)
    await refresh()
    expect(await rows('marts.fct_turns', 'sender_id')).toEqual([{ sender_id: 'amy' }, { sender_id: null }])
    expect(await rows(`(FROM marts.fct_responses WHERE metric = 'first_response')`, 'responder_id')).toEqual([
      { responder_id: 'amy' },
    ])
  })
})

const responses = () =>
  workspace.rows(
    'marts.fct_responses',
    `conversation_id AS id, metric, position, started_at, responded_at, ended_at, is_open, responder, responder_id, wait_seconds AS wait,
     wait_business_seconds AS business, sla_name AS sla, sla_hours AS hours, deadline_at, is_met`,
  )

const NO_SLA = { sla: null, hours: null, deadline_at: null, is_met: null }
const unanswered = { responded_at: null, responder: null, responder_id: null, wait: null, business: null }

const WAITS = {
  first: {
    ...{
      id: 'handed',
      metric: 'first_response',
      position: 1,
      started_at: time(1),
      responded_at: time(2),
      ended_at: time(2),
    },
    ...{ is_open: false, responder: 'agent', responder_id: null, wait: 60 },
  },
  handoff: {
    ...{
      id: 'handed',
      metric: 'handoff',
      position: 1,
      started_at: time(3),
      responded_at: time(10),
      ended_at: time(10),
    },
    ...{ is_open: false, responder: 'person', responder_id: 'ada', wait: 420 },
  },
  next: {
    ...{
      id: 'handed',
      metric: 'next_response',
      position: 2,
      started_at: time(4),
      responded_at: time(64),
      ended_at: time(64),
    },
    ...{ is_open: false, responder: 'person', responder_id: 'eve', wait: 3_600 },
  },
  open: {
    id: 'handed',
    metric: 'next_response',
    position: 3,
    started_at: time(100),
    ended_at: null,
    is_open: true,
    ...unanswered,
  },
  /** The conversation ended without response and resolution, nobody knows when. */
  left: {
    ...{ id: 'left', metric: 'first_response', position: 1, started_at: time(5), ended_at: null, is_open: false },
    ...unanswered,
  },
  resolved: {
    ...{
      id: 'resolved',
      metric: 'first_response',
      position: 1,
      started_at: time(60),
      ended_at: time(90),
      is_open: false,
    },
    ...unanswered,
  },
}

describe('fct_responses', () => {
  it('without a configuration counts all time, and has no target', async () => {
    const { first, handoff, next, open, left, resolved } = WAITS
    expect(await responses()).toEqual([
      { ...first, business: 60, ...NO_SLA },
      { ...handoff, business: 420, ...NO_SLA },
      { ...next, business: 3_600, ...NO_SLA },
      { ...open, ...NO_SLA },
      { ...left, ...NO_SLA },
      { ...resolved, ...NO_SLA },
    ])
  })

  it('is computed again when the configuration changes, with business time and the first target that matches', async () => {
    const level = (name: string, parts: Partial<ServiceLevel>): ServiceLevel => ({
      ...{ name, agents: null, channels: null, isBusiness: true, targets: [] },
      ...parts,
    })
    const rules = {
      timeZone: 'Europe/Berlin',
      // Open until 17:00 on Fridays, half an hour after the start, and from 9:00 on Mondays; the next Monday is a holiday.
      businessHours: { hours: [1, 5].map(weekday => ({ weekday, from: 540, to: 1_020 })), holidays: ['2026-09-07'] },
      serviceLevels: [
        level('other agent', { agents: ['agent-2'], targets: [{ metric: 'first_response', seconds: 1 }] }),
        level('whatsapp', { channels: ['whatsapp'], targets: [{ metric: 'next_response', seconds: 27 * 60 }] }),
        level('all', {
          agents: [AGENT],
          isBusiness: false,
          targets: [
            { metric: 'first_response', seconds: 60 },
            { metric: 'next_response', seconds: 1 },
            { metric: 'handoff', seconds: 419 },
            { metric: 'resolution', seconds: 5_400 },
          ],
        }),
      ],
    }
    await applyResponseRules(app.warehouse.writer, workspace.id, rules)
    await refresh()
    const { first, handoff, next, open, left, resolved } = WAITS
    const all = { sla: 'all', hours: 'calendar' }
    const whatsapp = { sla: 'whatsapp', hours: 'business' }
    const resolution = {
      metric: 'resolution',
      position: 1,
      started_at: time(0),
      responder: null,
      ...all,
      deadline_at: time(90),
    }
    expect(await responses()).toEqual(
      [
        { ...first, business: 60, ...all, deadline_at: time(2), is_met: true },
        { ...handoff, business: 420, ...all, deadline_at: '2026-09-04 14:39:59+00', is_met: false },
        // 26 minutes on Friday; the target of 27 ends on Friday a week later, at 9:01 in Berlin.
        { ...next, business: 26 * 60, ...whatsapp, deadline_at: '2026-09-11 07:01:00+00', is_met: true },
        { ...resolution, id: 'handed', is_open: true, ended_at: null, ...unanswered, is_met: null },
        { ...open, ...whatsapp, deadline_at: '2026-09-11 07:27:00+00', is_met: null },
        { ...resolved, ...all, deadline_at: '2026-09-04 15:31:00+00', is_met: false },
        { ...left, ...all, deadline_at: time(6), is_met: null },
        { ...resolution, id: 'left', is_open: false, ended_at: null, ...unanswered, is_met: null },
        {
          ...{ ...resolution, id: 'resolved', is_open: false, responded_at: time(90), ended_at: time(90), wait: 5_400 },
          ...{ business: 30 * 60, responder_id: 'bob', is_met: true },
        },
        { ...resolution, id: 'silent', is_open: true, ended_at: null, ...unanswered, is_met: null },
      ].sort((a, b) => (`${a.id} ${a.metric} ${a.position}` < `${b.id} ${b.metric} ${b.position}` ? -1 : 1)),
    )
  })

  it('loses targets and business hours that are no longer configured', async () => {
    const none = { timeZone: 'Europe/Berlin', businessHours: null, serviceLevels: [] }
    await applyResponseRules(app.warehouse.writer, workspace.id, none)
    await refresh()
    const rows = await responses()
    expect(rows).toHaveLength(6)
    expect(rows.every(({ sla, business, wait }) => sla === null && business === wait)).toBe(true)
    expect(await app.warehouse.writer.rows('FROM _business_hours')).toEqual([])
  })

  it('has waits that go on when an event has reopened a conversation whose record keeps the earlier resolution', async () => {
    const place = app.workspace()
    const targets = [
      { metric: 'first_response', seconds: 300 },
      { metric: 'resolution', seconds: 7_200 },
    ] as const
    await applyResponseRules(app.warehouse.writer, place.id, {
      ...{ timeZone: 'UTC', businessHours: null },
      serviceLevels: [{ name: 'all', agents: null, channels: null, isBusiness: false, targets: [...targets] }],
    })
    const record = { ID: 'g', firstMessageTS: at(0), lastModified: at(60), isResolved: true, resolvedAt: at(60) }
    await place.load(await landConversations(place.landing, { records: [record] }))
    const createdAt = at(300)
    await applyTo(
      place,
      eventOf('conversation_updated', {
        ...{ agentId: AGENT, convoId: 'g', createdAt },
        lightConvoData: { ID: 'g', isResolved: false, reopenedAt: createdAt, lastModified: createdAt },
        turns: [{ turnId: 't', role: 'user', text: 'Hello?', timestamp: at(0) }],
      }),
    )
    await refresh()
    const open = { is_open: true, is_answered: false, ended_at: null, is_met: null }
    expect(await place.rows('marts.fct_responses', 'metric, is_open, is_answered, ended_at, is_met')).toEqual([
      { metric: 'first_response', ...open },
      { metric: 'resolution', ...open },
    ])
  })
})
