// What goes wrong when an analyst queries the tables in the obvious way, and what the marts answer instead.
import { beforeAll, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import type { Row } from '../../../src/warehouse/connection.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** In UTC a Monday, in Los Angeles the Sunday of the week before. */
const START = Date.UTC(2026, 10, 2, 4)

const one = (ID: string, more: Record<string, unknown>) => ({
  ...{ ID, firstMessageTS: START, lastMessageTS: START, lastModified: START + MINUTE, userPlatform: 'whatsapp' },
  ...more,
})

const FIRST = [
  one('a', {
    ...{
      isTest: false,
      isResolved: true,
      resolvedAt: START + MINUTE,
      csat: { satisfaction10: 10 },
      value: 5,
      currency: 'EUR',
    },
    handoffHistory: [{ requestedAt: START, acceptedAt: START + MINUTE, teamIds: ['t1', 't2'], teamKeys: ['k1'] }],
  }),
  one('b', { csat: { satisfaction10: 4 }, value: 70, currency: 'JPY', tokenUsage: { cumulativeUsd: 1 } }),
  one('c', { userPlatform: 'webchat', csat: { satisfaction10: 1 }, value: 1_000 }),
  one('test', { isTest: true, csat: { satisfaction10: 1 } }),
]

/** Reopening clears `resolvedAt`; conversation b goes on for two days. */
const SECOND = [
  one('a', { ...FIRST[0], isResolved: false, resolvedAt: null, reopenedAt: START + DAY, lastModified: START + DAY }),
  one('b', {
    ...FIRST[1],
    ...{ lastMessageTS: START + 2 * DAY, lastModified: START + 2 * DAY, tokenUsage: { cumulativeUsd: 4 } },
  }),
]

/** The welcome has the time of the question, and the person's answer that of the agent's: their order is that of the list. */
const TURNS = eventOf('conversation_updated', {
  ...{ agentId: AGENT, convoId: 'c', createdAt: START + MINUTE },
  turns: [
    { role: 'assistant', text: 'welcome', timestamp: START },
    { role: 'user', text: 'question', timestamp: START },
    { role: 'human_agent', text: 'answer', timestamp: START + MINUTE },
    { role: 'assistant', text: 'more', timestamp: START + MINUTE },
  ],
})

let workspace: Workspace

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'America/Los_Angeles' })
  const { landing, load } = workspace
  await load(await landConversations(landing, { records: FIRST }))
  await load(await landConversations(landing, { records: SECOND, sentAtMs: SENT_AT_MS + MINUTE }))
  await applyTo(workspace, TURNS)
  await refreshMarts(app.warehouse.writer)
})

const answer = (sql: string): Promise<Row[]> => app.warehouse.writer.rows(sql)

describe('a query over the tables goes wrong, and one over the marts does not,', () => {
  it('where conversations do not say whether they are tests', async () => {
    expect(await answer('SELECT count(*)::INTEGER AS n FROM conversations WHERE NOT is_test')).toEqual([{ n: 1 }])
    expect(await answer('SELECT count(*)::INTEGER AS n FROM marts.fct_conversations WHERE NOT is_test')).toEqual([
      { n: 3 },
    ])
    expect(await answer('SELECT sum(conversations)::INTEGER AS n FROM marts.conversations_daily')).toEqual([{ n: 3 }])
  })

  it('where averages are averaged', async () => {
    const naive = 'SELECT avg(average_satisfaction10) AS score FROM conversations_by_day'
    expect(await answer(naive)).toEqual([{ score: 3 }])
    expect(
      await answer('SELECT sum(csat_score_sum) / sum(csat_answers) AS score FROM marts.conversations_daily'),
    ).toEqual([{ score: 5 }])
    expect(await answer('SELECT avg(csat_score) AS score FROM marts.fct_csat WHERE is_counted')).toEqual([{ score: 5 }])
  })

  it('where a cumulative cost is booked on the first day of its conversation', async () => {
    const naive = 'SELECT day, sum(tokens_usd) AS usd FROM conversations_by_day WHERE tokens_usd > 0 GROUP BY day'
    expect(await answer(naive)).toEqual([{ day: '2026-11-01', usd: 4 }])
    const spent =
      'SELECT day, sum(tokens_usd) AS usd FROM marts.conversations_daily WHERE tokens_usd > 0 GROUP BY day ORDER BY day'
    expect(await answer(spent)).toEqual([
      { day: '2026-11-01', usd: 1 },
      { day: '2026-11-03', usd: 3 },
    ])
  })

  it('where reopening has cleared the time of the resolution', async () => {
    expect(await answer('SELECT count(resolved_at)::INTEGER AS n FROM conversations')).toEqual([{ n: 0 }])
    const shares =
      'SELECT sum(ever_resolved)::INTEGER AS resolved, sum(reopened)::INTEGER AS reopened FROM marts.conversations_daily'
    expect(await answer(shares)).toEqual([{ resolved: 1, reopened: 1 }])
  })

  it('where one handoff went to several teams', async () => {
    const naive = `SELECT count(*)::INTEGER AS n FROM conversation_handoffs h JOIN conversation_handoff_team_ids t
      ON t.conversation_id = h.conversation_id AND t.handoff_position = h.position`
    expect(await answer(naive)).toEqual([{ n: 2 }])
    const handoffs = 'SELECT count(*)::INTEGER AS n, sum(wait_seconds) AS waited FROM marts.fct_handoffs'
    expect(await answer(handoffs)).toEqual([{ n: 1, waited: 60 }])
  })

  it('where values have several currencies, and none', async () => {
    expect(await answer('SELECT sum(value) AS value FROM conversations')).toEqual([{ value: 1_075 }])
    const values =
      'SELECT lead_currency, sum(lead_value) AS value FROM marts.fct_leads WHERE is_counted GROUP BY ALL ORDER BY ALL'
    expect(await answer(values)).toEqual([
      { lead_currency: 'EUR', value: 5 },
      { lead_currency: 'JPY', value: 70 },
      { lead_currency: 'unknown', value: 1_000 },
    ])
  })

  it('where turns have equal times', async () => {
    const naive = `SELECT epoch(min(a.written_at - q.written_at)) AS seconds FROM conversation_turns q JOIN conversation_turns a USING (conversation_id)
      WHERE q.role = 'user' AND a.role <> 'user' AND a.written_at >= q.written_at`
    expect(await answer(naive)).toEqual([{ seconds: 0 }])
    const times = `SELECT first_response_seconds AS seconds, first_human_response_seconds AS by_person FROM marts.fct_conversations WHERE has_transcript`
    expect(await answer(times)).toEqual([{ seconds: 60, by_person: 60 }])
  })

  it('where weeks are those of UTC', async () => {
    const naive = `SELECT DISTINCT date_trunc('week', first_message_ts)::DATE AS week FROM conversations`
    expect(await answer(naive)).toEqual([{ week: '2026-11-02' }])
    const weeks = `SELECT week_begin AS week, sum(conversations)::INTEGER AS n FROM marts.conversations_daily
      JOIN marts.dim_calendar USING (workspace_id, day) WHERE conversations > 0 GROUP BY ALL`
    expect(await answer(weeks)).toEqual([{ week: '2026-10-26', n: 3 }])
  })
})
