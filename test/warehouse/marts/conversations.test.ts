// Facts and days of a handful of conversations, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import type { Row } from '../../../src/warehouse/connection.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landAgents, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** In Los Angeles it is the evening of 31 October, in UTC the morning of 1 November. */
const START = Date.UTC(2026, 10, 1, 2)
const NEXT_DAY = START + 24 * 60 * MINUTE
const at = (minutes: number): number => START + minutes * MINUTE

const FIRST_EXPORT = [
  {
    ID: 'resolved',
    userPlatform: 'whatsapp',
    isTest: false,
    firstMessageTS: START,
    lastMessageTS: at(20),
    lastModified: at(60),
    messagesNum: 5,
    sessionsNum: 1,
    isResolved: true,
    resolvedAt: at(60),
    chatAssignedTo: 'ada',
    assignedTo: { userId: 'ada', name: 'Ada', assignedAt: new Date(at(3)).toISOString() },
    resolvedBy: 'bob',
    handoffHistory: [
      { requestedAt: at(1), acceptedAt: at(3), acceptedBy: 'ada', teamIds: ['t1', 't2'] },
      { requestedAt: at(10), teamIds: ['t1'] },
      { requestedAt: at(12), acceptedAt: at(17), acceptedBy: 'eve' },
    ],
    csat: { satisfaction10: 8, ease10: 6, submittedAt: at(70) },
    tokenUsage: { cumulativeTotalTokens: 100, cumulativeUsd: 0.5 },
    stage: 'won',
    value: 10,
    currency: 'eur',
  },
  // `isTest` is absent: a filter on NOT is_test would lose it.
  {
    ID: 'reopened',
    userPlatform: 'whatsapp',
    firstMessageTS: START,
    lastMessageTS: at(5),
    lastModified: at(30),
    messagesNum: 2,
    isResolved: true,
    resolvedAt: at(30),
    csat: { satisfaction10: 2 },
    tokenUsage: { cumulativeTotalTokens: 10, cumulativeUsd: 0.25 },
    stage: 'won',
    value: 99,
  },
  { ID: 'test', isTest: true, userPlatform: 'whatsapp', firstMessageTS: START, lastModified: at(1), messagesNum: 50 },
]

/** A day later: reopening has cleared `resolvedAt`, and more was spent. */
const SECOND_EXPORT = [
  {
    ...FIRST_EXPORT[1],
    lastMessageTS: NEXT_DAY,
    lastModified: NEXT_DAY + MINUTE,
    messagesNum: 4,
    isResolved: false,
    resolvedAt: null,
    reopenedAt: NEXT_DAY - MINUTE,
    tokenUsage: { cumulativeTotalTokens: 40, cumulativeUsd: 1 },
  },
  // Exported once, after it was reopened and resolved again: its first resolution was never seen.
  {
    ID: 'resolved again',
    userPlatform: 'webchat',
    firstMessageTS: START,
    lastMessageTS: START,
    lastModified: NEXT_DAY,
    isResolved: true,
    resolvedAt: NEXT_DAY,
    reopenedAt: at(90),
  },
]

const TRANSCRIPT = eventOf('conversation_updated', {
  agentId: AGENT,
  convoId: 'resolved',
  createdAt: at(65),
  turns: [
    { role: 'assistant', text: 'hello', timestamp: at(0) },
    { role: 'user', text: 'a question', timestamp: at(1) },
    // The answers have the same time: their order is that of the list.
    { role: 'assistant', text: 'an answer', timestamp: at(2) },
    { role: 'human_agent', text: 'mine', timestamp: at(2) },
    { role: 'human_agent', text: 'more', timestamp: at(9) },
  ],
})

const FROM_EVENT = eventOf('conversation_updated', {
  agentId: AGENT,
  convoId: 'from an event',
  createdAt: at(2),
  lightConvoData: { ID: 'from an event', messagesNum: 7, firstMessageTS: START, userPlatform: 'whatsapp' },
})

let workspace: Workspace
let facts: Record<string, Row>

const withoutNulls = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'America/Los_Angeles' })
  const { landing, load } = workspace
  await load(await landAgents(landing, { agents: [{ ID: AGENT, title: 'Support' }] }))
  await load(await landConversations(landing, { records: FIRST_EXPORT, sentAtMs: SENT_AT_MS }))
  await applyTo(workspace, TRANSCRIPT, FROM_EVENT)
  await load(await landConversations(landing, { records: SECOND_EXPORT, sentAtMs: SENT_AT_MS + MINUTE }))
  await refreshMarts(app.warehouse.writer)
  const rows = await workspace.rows('marts.fct_conversations')
  facts = Object.fromEntries(rows.map(row => [row.conversation_id as string, withoutNulls(row)]))
})

describe('fct_conversations', () => {
  it('has every value of a conversation that was resolved', () => {
    expect(facts.resolved).toEqual({
      ...{ agent_id: AGENT, conversation_id: 'resolved', agent_title: 'Support', channel: 'whatsapp' },
      ...{ day: '2026-10-31', started_at: '2026-11-01 02:00:00+00', last_activity_at: '2026-11-01 02:20:00+00' },
      ...{ is_counted: true, is_test: false, is_complete: true, is_missing: false, is_stale: false },
      ...{
        as_of: '2026-11-20 08:58:00+00',
        last_observed_at: '2026-11-20 09:00:00+00',
        messages: '5',
        sessions: '1',
        has_transcript: true,
      },
      ...{ first_response_seconds: 60, first_human_response_seconds: 60 },
      ...{ first_assigned_at: '2026-11-01 02:03:00+00', seconds_to_assignment: 180 },
      ...{ is_resolved: true, was_resolved: true, was_reopened: false, reopens: '0' },
      ...{ first_resolved_at: '2026-11-01 03:00:00+00', seconds_to_first_resolution: 3_600 },
      ...{ last_resolved_at: '2026-11-01 03:00:00+00', seconds_to_last_resolution: 3_600 },
      ...{ handoffs: '3', handoffs_accepted: '2', handoff_wait_seconds: 420, handoff_longest_wait_seconds: 300 },
      // Ada, Eve and Bob.
      ...{ people: '3', assignee_id: 'ada', assignee_name: 'Ada', resolved_by: 'bob' },
      ...{ csat_score: 8, csat_ease: 6, csat_submitted_at: '2026-11-01 03:10:00+00' },
      ...{ tokens: '100', tokens_usd: 0.5, lead_stage: 'won', lead_value: 10, lead_currency: 'EUR' },
    })
  })

  it('remembers the resolution that reopening has cleared', () => {
    expect(facts.reopened).toMatchObject({
      ...{ is_resolved: false, was_resolved: true, was_reopened: true, reopens: '1' },
      ...{ first_resolved_at: '2026-11-01 02:30:00+00', last_resolved_at: '2026-11-01 02:30:00+00', tokens: '40' },
    })
  })

  it('does not take a second resolution for the first', () => {
    const { first_resolved_at, ...row } = facts['resolved again']!
    expect(first_resolved_at).toBeUndefined()
    expect(row).toMatchObject({
      was_resolved: true,
      was_reopened: true,
      reopens: '1',
      seconds_to_last_resolution: 86_400,
    })
  })

  it('marks tests and what is known from events alone, and a conversation that does not say whether it is a test counts', () => {
    const marks = Object.fromEntries(
      Object.entries(facts).map(([id, row]) => [id, [row.is_counted, row.is_test, row.is_complete]]),
    )
    expect(marks).toEqual({
      resolved: [true, false, true],
      reopened: [true, false, true],
      'resolved again': [true, false, true],
      test: [false, true, true],
      'from an event': [false, false, false],
    })
  })
})

describe('conversations_daily', () => {
  it('counts conversations on their first day, and costs on the day on which they were spent', async () => {
    const days = await workspace.rows(
      'marts.conversations_daily',
      `day, channel, agent_title, conversations, messages, ever_resolved, resolved, reopened, handoffs, handoff_wait_seconds_sum,
       handoffs_accepted, csat_score_sum, csat_answers, first_human_response_seconds_sum, first_human_responses, leads, tokens, tokens_usd`,
    )
    const empty = {
      ...{
        agent_title: 'Support',
        conversations: '0',
        messages: '0',
        ever_resolved: '0',
        resolved: '0',
        reopened: '0',
      },
      ...{ handoffs: '0', handoff_wait_seconds_sum: 0, handoffs_accepted: '0', csat_score_sum: 0, csat_answers: '0' },
      ...{ first_human_response_seconds_sum: 0, first_human_responses: '0', leads: '0', tokens: '0', tokens_usd: 0 },
    }
    expect(days).toEqual([
      {
        ...empty,
        ...{
          day: '2026-10-31',
          channel: 'webchat',
          conversations: '1',
          ever_resolved: '1',
          resolved: '1',
          reopened: '1',
        },
      },
      {
        ...empty,
        ...{
          day: '2026-10-31',
          channel: 'whatsapp',
          conversations: '2',
          messages: '9',
          ever_resolved: '2',
          resolved: '1',
        },
        ...{ reopened: '1', handoffs: '3', handoff_wait_seconds_sum: 420, handoffs_accepted: '2', csat_score_sum: 10 },
        ...{ csat_answers: '2', first_human_response_seconds_sum: 60, first_human_responses: '1', leads: '2' },
        ...{ tokens: '110', tokens_usd: 0.75 },
      },
      { ...empty, day: '2026-11-01', channel: 'whatsapp', tokens: '30', tokens_usd: 0.75 },
    ])
  })
})

/** Columns of the daily mart, and what they must add up to in the facts. */
const SUMS: Record<string, string> = {
  ...{ conversations: 'count(*)', messages: 'sum(messages)', sessions: 'sum(sessions)', handoffs: 'sum(handoffs)' },
  ...{ ever_resolved: 'count(*) FILTER (was_resolved)', reopened: 'count(*) FILTER (was_reopened)' },
  ...{ handoff_wait_seconds_sum: 'sum(handoff_wait_seconds)', csat_score_sum: 'sum(csat_score)' },
  ...{ csat_answers: 'count(csat_score)', seconds_to_first_resolution_sum: 'sum(seconds_to_first_resolution)' },
  ...{ seconds_to_assignment_sum: 'sum(seconds_to_assignment)', assigned: 'count(seconds_to_assignment)' },
  ...{ tokens: 'sum(tokens)', tokens_usd: 'sum(tokens_usd)', credits: 'coalesce(sum(credits), 0)' },
}

it('daily sums equal the facts', async () => {
  const sums = (of: (column: string, fact: string) => string) =>
    Object.entries(SUMS)
      .map(([column, fact]) => `round(coalesce(${of(column, fact)}, 0)::DOUBLE, 6) AS ${column}`)
      .join(', ')
  const [daily] = await workspace.rows(
    'marts.conversations_daily',
    sums(column => `sum(${column})`),
  )
  const counted = await app.warehouse.writer.rows(
    `SELECT ${sums((_, fact) => fact)} FROM marts.fct_conversations WHERE is_counted AND workspace_id = '${workspace.id}'`,
  )
  expect([daily]).toEqual(counted)
})
