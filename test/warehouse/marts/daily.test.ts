// Figures of days of a handful of conversations, with a truth computed by hand: tags, funnels, captured variables, custom metrics, people, the
// pipeline and costs.
import { beforeAll, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import type { Row } from '../../../src/warehouse/connection.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, freshWindow, landAgents, landConversations, landMetric, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** In Los Angeles it is the evening of 31 October, in UTC the morning of 1 November. */
const START = Date.UTC(2026, 10, 1, 2)
const at = (minutes: number): number => START + minutes * MINUTE

const one = (ID: string, more: Record<string, unknown>) => ({
  ...{ ID, firstMessageTS: START, lastMessageTS: START, lastModified: START, userPlatform: 'whatsapp' },
  ...more,
})

const RECORDS = [
  one('a', {
    tags: ['vip', 'refund', 'vip'],
    funnelStepsMatched: [
      { stepId: 'asked', matchedAt: at(1) },
      { stepId: 'booked', matchedAt: at(5) },
      { stepId: 'asked', matchedAt: at(9) },
    ],
    capturedVariables: { color: 'red', note: 'x'.repeat(300), empty: '' },
    metrics: [
      { metricId: 'effort', key: 'old name', value: 2 },
      { metricId: 'effort', value: 'n/a' },
      { key: 'mood', value: 'good' },
      { key: 'nobody declared', value: 7 },
      { metricId: 'effort', value: null },
    ],
    chatAssignedTo: 'ada',
    assignedTo: { userId: 'ada', name: 'Ada', assignedAt: new Date(at(3)).toISOString() },
    ...{ isResolved: true, resolvedAt: at(60), resolvedBy: 'bob', csat: { satisfaction10: 8 } },
    handoffHistory: [
      { requestedAt: at(1), acceptedAt: at(3), completedAt: at(13), acceptedBy: 'ada' },
      { requestedAt: at(10), acceptedAt: at(11), acceptedBy: 'eve' },
      { requestedAt: at(12) },
    ],
    ...{ stage: 'won', value: 10, currency: 'eur', leadScore: 3 },
    tokenUsage: {
      cumulativeTotalTokens: 100,
      cumulativeUsd: 0.5,
      usagePerModel: { m: { totalTokens: 90, usd: 0.25 } },
    },
    detailedCost: { totalCreditsConsumed: 4, llmCost: 0.25, speechGenCost: 1, transcriberCost: 2 },
    ext: { cost: 8 },
  }),
  one('b', {
    tags: ['vip'],
    funnelStepsMatched: ['asked'],
    capturedVariables: { color: 'blue' },
    metrics: [
      { metricId: 'effort', value: 4 },
      { key: 'mood', value: 5 },
    ],
    ...{ chatAssignedTo: 'ada', stage: 'won', value: 5, currency: 'EUR' },
    detailedCost: { totalCreditsConsumed: 1 },
  }),
  one('c', {
    ...{ tags: ['spam'], capturedVariables: { color: 'red' }, userPlatform: 'webchat', stage: 'won', value: 70 },
    ...{ currency: 'JPY', isTest: null },
  }),
  one('no currency', { value: 1_000 }),
  one('test', {
    ...{ isTest: true, tags: ['vip'], funnelStepsMatched: ['asked'], capturedVariables: { color: 'red' } },
    ...{
      metrics: [{ metricId: 'effort', value: 1_000 }],
      chatAssignedTo: 'ada',
      stage: 'won',
      value: 7,
      currency: 'EUR',
    },
    detailedCost: { totalCreditsConsumed: 100 },
  }),
]

/** A day later, more was spent, and another tag was set. */
const LATER = [
  one('a', {
    ...RECORDS[0],
    ...{ lastMessageTS: START + DAY, lastModified: START + DAY, tags: ['refund'] },
    tokenUsage: {
      cumulativeTotalTokens: 130,
      cumulativeUsd: 0.75,
      usagePerModel: { m: { totalTokens: 95, usd: 0.5 } },
    },
    detailedCost: { totalCreditsConsumed: 5, llmCost: 0.5, speechGenCost: 1, transcriberCost: 2 },
  }),
]

const FROM_EVENT = eventOf('conversation_updated', {
  ...{ agentId: AGENT, convoId: 'from an event', createdAt: at(2) },
  lightConvoData: { ID: 'from an event', tags: ['vip'], firstMessageTS: START, chatAssignedTo: 'ada' },
})

let workspace: Workspace

const marts = (name: string, what: string): Promise<Row[]> => workspace.rows(`marts.${name}`, what)

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'America/Los_Angeles' })
  const { landing, load } = workspace
  await load(await landAgents(landing, { agents: [{ ID: AGENT, title: 'Support' }] }))
  await load(await landMetric(landing, { metric: { id: 'effort', key: 'customer effort', type: 'number' } }))
  await load(await landMetric(landing, { metric: { id: 'met_mood', key: 'mood', type: 'enum' } }))
  await load(await landConversations(landing, { records: RECORDS }))
  await applyTo(workspace, FROM_EVENT)
  await load(await landConversations(landing, { records: LATER, sentAtMs: SENT_AT_MS + MINUTE }))
  await refreshMarts(app.warehouse.writer)
})

const DAY_ONE = { day: '2026-10-31' }

describe('tags_daily', () => {
  it('has the tags of the newest records, by conversations, once for each', async () => {
    const what =
      'channel, day, tag_rank, agent_title, tag, is_rest, conversations, resolved, csat_score_sum, csat_answers'
    const of = {
      ...DAY_ONE,
      agent_title: 'Support',
      is_rest: false,
      resolved: '0',
      csat_score_sum: 0,
      csat_answers: '0',
    }
    expect(await marts('tags_daily', what)).toEqual([
      { ...of, channel: 'webchat', tag_rank: 1, tag: 'spam', conversations: '1' },
      {
        ...{ ...of, channel: 'whatsapp', tag_rank: 1, tag: 'refund', conversations: '1', resolved: '1' },
        ...{ csat_score_sum: 8, csat_answers: '1' },
      },
      { ...of, channel: 'whatsapp', tag_rank: 2, tag: 'vip', conversations: '1' },
    ])
  })
})

describe('funnel_daily', () => {
  it('has the conversations that reached each step, their places and times', async () => {
    const what = 'channel, step, day, conversations, position_sum, seconds_to_step_sum, timed'
    expect(await marts('funnel_daily', what)).toEqual([
      {
        ...{ ...DAY_ONE, channel: 'whatsapp', step: 'asked', conversations: '2', position_sum: '2' },
        ...{ seconds_to_step_sum: 60, timed: '1' },
      },
      {
        ...{ ...DAY_ONE, channel: 'whatsapp', step: 'booked', conversations: '1', position_sum: '2' },
        ...{ seconds_to_step_sum: 300, timed: '1' },
      },
    ])
  })
})

describe('captured_variables_top', () => {
  it('has the most frequent values of each variable, equal ones in the order of their texts', async () => {
    const what = 'variable, day, value_rank, value_text, is_rest, conversations, values_shown'
    const of = { ...DAY_ONE, is_rest: false, values_shown: '1' }
    expect(await marts('captured_variables_top', what)).toEqual([
      { ...of, variable: 'color', value_rank: 1, value_text: 'red', conversations: '2' },
      { ...of, variable: 'color', value_rank: 2, value_text: 'blue', conversations: '1' },
      { ...of, variable: 'note', value_rank: 1, value_text: 'x'.repeat(200), conversations: '1' },
    ])
  })

  it('is bounded, and so are tags and the texts of metrics: the rest is one row', async () => {
    const place = app.workspace()
    const records = Array.from({ length: 130 }, (_, n) => {
      const text = String(Math.max(n, 2)).padStart(3, '0')
      return one(`c${n}`, {
        tags: [text],
        capturedVariables: { color: text },
        metrics: [{ key: 'mood', value: `is ${text}` }],
      })
    })
    await place.load(await landConversations(place.landing, { records }))
    await refreshMarts(app.warehouse.writer)
    const shown = (table: string, rank: string, text: string, counted: string) =>
      place.rows(
        `marts.${table}`,
        `count(*)::INTEGER AS n, max(${rank}) AS last, sum(${counted})::INTEGER AS all_rows,
         min(${text}) AS first, max(${text}) AS highest, sum(${counted}) FILTER (is_rest)::INTEGER AS rest`,
      )
    // Number 002 is there three times.
    const texts = (prefix: string, highest: string) => ({
      first: `${prefix}002`,
      highest: `${prefix}${highest}`,
      all_rows: 130,
    })
    expect(await shown('tags_daily', 'tag_rank', 'tag', 'conversations')).toEqual([
      { n: 101, last: 101, ...texts('', '101'), rest: 28 },
    ])
    expect(await shown('captured_variables_top', 'value_rank', 'value_text', 'conversations')).toEqual([
      { n: 21, last: 21, ...texts('', '021'), rest: 108 },
    ])
    expect(await shown('custom_metrics_daily', 'value_rank', 'value_text', 'measurements')).toEqual([
      { n: 21, last: 21, ...texts('is ', '021'), rest: 108 },
    ])
  })
})

describe('custom_metrics_daily', () => {
  it('has numbers where the metric is declared as a number, or not at all, and keeps other values as texts', async () => {
    const what = `metric_id, day, value_rank, metric_key, declared_type, value_type, value_text, conversations, measurements, value_sum, value_min, value_max`
    const text = {
      ...DAY_ONE,
      value_type: 'text',
      value_sum: null,
      value_min: null,
      value_max: null,
      conversations: '1',
    }
    const number = { ...DAY_ONE, value_rank: 0, value_type: 'number', value_text: null }
    const effort = { metric_id: 'effort', metric_key: 'customer effort', declared_type: 'number' }
    const mood = { metric_id: 'met_mood', metric_key: 'mood', declared_type: 'enum' }
    expect(await marts('custom_metrics_daily', what)).toEqual([
      { ...number, ...effort, conversations: '2', measurements: '2', value_sum: 6, value_min: 2, value_max: 4 },
      { ...text, ...effort, value_rank: 1, value_text: 'n/a', measurements: '1' },
      { ...text, ...mood, value_rank: 1, value_text: '5', measurements: '1' },
      { ...text, ...mood, value_rank: 2, value_text: 'good', measurements: '1' },
      {
        ...{ ...number, metric_id: 'nobody declared', metric_key: 'nobody declared', declared_type: null },
        ...{ conversations: '1', measurements: '1', value_sum: 7, value_min: 7, value_max: 7 },
      },
    ])
  })

  it('has measurements without an id at the metric that exists, not at one that is gone or was declared later', async () => {
    const place = app.workspace()
    const { landing, load } = place
    const gone = await landMetric(landing, { metric: { id: 'a_old', key: 'csat', type: 'enum' } })
    await load(gone)
    const body = Buffer.from(JSON.stringify({ message: 'Not found', code: 'NOT_FOUND' }))
    const sentAtMs = SENT_AT_MS + DAY
    const head = await landing.head(gone.address)
    const address = await landing.land(
      {
        ...{ ...head, status: 404, sentAtMs, receivedAtMs: sentAtMs, sentAtServerMs: sentAtMs, bodyBytes: body.length },
        place: { ...head.place, window: freshWindow().name },
      },
      body,
    )
    await load({ address, head: await landing.head(address) })
    await load(await landMetric(landing, { metric: { id: 'z_new', key: 'csat', type: 'number' }, sentAtMs }))
    await load(await landMetric(landing, { metric: { id: 'effort', key: 'customer effort', type: 'number' } }))
    const metrics = [
      { key: 'csat', value: 5 },
      { metricId: 'z_new', value: 3 },
      { key: 'effort', value: 2 },
    ]
    await load(await landConversations(landing, { records: [one('m', { metrics })] }))
    await refreshMarts(app.warehouse.writer)
    const shown = () =>
      place.rows('marts.custom_metrics_daily', 'metric_id, declared_type, value_type, measurements, value_sum')
    const csat = { metric_id: 'z_new', declared_type: 'number', value_type: 'number', measurements: '2', value_sum: 8 }
    const effort = {
      metric_id: 'effort',
      declared_type: 'number',
      value_type: 'number',
      measurements: '1',
      value_sum: 2,
    }
    expect(await shown()).toEqual([effort, csat])
    // Its key is the id of the other metric.
    await load(await landMetric(landing, { metric: { id: 'met2', key: 'effort', type: 'number' }, sentAtMs }))
    await refreshMarts(app.warehouse.writer)
    expect(await shown()).toEqual([{ ...effort, metric_id: 'met2' }, csat])
  })
})

describe('people_daily', () => {
  it('has what each person was assigned, resolved and accepted', async () => {
    const what = '* EXCLUDE (workspace_id, agent_id, agent_title)'
    const none = {
      ...{
        ...DAY_ONE,
        user_name: null,
        assigned: '0',
        assigned_resolved: '0',
        assigned_reopened: '0',
        csat_score_sum: 0,
      },
      ...{ csat_answers: '0', resolved: '0', handoffs_accepted: '0', handoff_wait_seconds_sum: 0 },
      ...{ handling_seconds_sum: 0, handoffs_completed: '0' },
    }
    expect(await marts('people_daily', what)).toEqual([
      {
        ...{ ...none, user_id: 'ada', user_name: 'Ada', assigned: '2', assigned_resolved: '1', csat_score_sum: 8 },
        ...{ csat_answers: '1', handoffs_accepted: '1', handoff_wait_seconds_sum: 120, handling_seconds_sum: 600 },
        handoffs_completed: '1',
      },
      { ...none, user_id: 'bob', resolved: '1' },
      { ...none, user_id: 'eve', handoffs_accepted: '1', handoff_wait_seconds_sum: 60 },
    ])
  })

  it('adds up to the facts', async () => {
    const [facts] = await app.warehouse.writer.rows(`SELECT
      (SELECT count(assignee_id) FROM marts.fct_conversations WHERE is_counted AND workspace_id = '${workspace.id}')::INTEGER AS assigned,
      (SELECT count(*) FROM marts.fct_handoffs WHERE is_counted AND is_accepted AND workspace_id = '${workspace.id}')::INTEGER AS accepted`)
    const sums = 'sum(assigned)::INTEGER AS assigned, sum(handoffs_accepted)::INTEGER AS accepted'
    expect(await marts('people_daily', sums)).toEqual([facts])
    expect(facts).toEqual({ assigned: 2, accepted: 2 })
  })
})

describe('pipeline_daily', () => {
  it('has the leads of each stage and currency', async () => {
    const what = 'channel, lead_stage, lead_currency, day, leads, valued, lead_value_sum, scored, lead_score_sum'
    const of = { ...DAY_ONE, channel: 'whatsapp', scored: '0', lead_score_sum: 0 }
    expect(await marts('pipeline_daily', what)).toEqual([
      {
        ...{ ...of, channel: 'webchat', lead_stage: 'won', lead_currency: 'JPY', leads: '1', valued: '1' },
        lead_value_sum: 70,
      },
      { ...of, lead_stage: 'unknown', lead_currency: 'unknown', leads: '1', valued: '1', lead_value_sum: 1_000 },
      {
        ...{ ...of, lead_stage: 'won', lead_currency: 'EUR', leads: '2', valued: '2', lead_value_sum: 15 },
        ...{ scored: '1', lead_score_sum: 3 },
      },
    ])
  })
})

describe('spend_daily', () => {
  it('has each measure on the day of the spending, and of the life of the conversations that began', async () => {
    const what = `day, channel, conversations, conversations_with_spend, tokens, tokens_usd, credits, llm_cost, speech_cost, transcriber_cost, call_cost,
      lifetime_tokens, lifetime_tokens_usd, lifetime_credits, lifetime_llm_cost, lifetime_speech_cost, lifetime_transcriber_cost, lifetime_call_cost`
    const nothing = {
      ...{ conversations_with_spend: '0', tokens: '0', tokens_usd: 0, credits: 0, llm_cost: 0, speech_cost: 0 },
      ...{ transcriber_cost: 0, call_cost: 0, lifetime_tokens: '0', lifetime_tokens_usd: 0, lifetime_credits: 0 },
      ...{ lifetime_llm_cost: 0, lifetime_speech_cost: 0, lifetime_transcriber_cost: 0, lifetime_call_cost: 0 },
    }
    expect(await marts('spend_daily', what)).toEqual([
      { ...nothing, ...DAY_ONE, channel: 'webchat', conversations: '1' },
      {
        ...{ ...DAY_ONE, channel: 'whatsapp', conversations: '3', conversations_with_spend: '2', tokens: '100' },
        ...{ tokens_usd: 0.5, credits: 5, llm_cost: 0.25, speech_cost: 1, transcriber_cost: 2, call_cost: 8 },
        ...{ lifetime_tokens: '130', lifetime_tokens_usd: 0.75, lifetime_credits: 6, lifetime_llm_cost: 0.5 },
        ...{ lifetime_speech_cost: 1, lifetime_transcriber_cost: 2, lifetime_call_cost: 8 },
      },
      {
        ...{ ...nothing, day: '2026-11-01', channel: 'whatsapp', conversations: '0', conversations_with_spend: '1' },
        ...{ tokens: '30', tokens_usd: 0.25, credits: 1, llm_cost: 0.25 },
      },
    ])
  })
})

describe('credits', () => {
  it('has each measure of the record, booked and reported, and what the models report beside them', async () => {
    const rows = await marts('credits', 'measure, field, unit, booked, reported, difference, first_day, last_day')
    const grown = { first_day: '2026-10-31', last_day: '2026-11-01' }
    const once = { first_day: '2026-10-31', last_day: '2026-10-31' }
    const same = (amount: number) => ({ booked: amount, reported: amount, difference: 0 })
    const unstated = { unit: 'not stated' }
    const byModel = { ...grown, reported: null, difference: null }
    const path = 'tokenUsage.usagePerModel.*'
    expect(rows).toEqual([
      { measure: 'call_cost', field: 'ext.cost', ...unstated, ...same(8), ...once },
      {
        ...{
          measure: 'cost_by_model',
          field: `${path}.cost`,
          ...unstated,
          booked: 0,
          reported: null,
          difference: null,
        },
        ...{ first_day: null, last_day: null },
      },
      { measure: 'credits', field: 'detailedCost.totalCreditsConsumed', unit: 'credits', ...same(6), ...grown },
      {
        ...{ measure: 'input_tokens', field: 'tokenUsage.cumulativeInputTokens', unit: 'tokens', ...same(0) },
        ...{ first_day: null, last_day: null },
      },
      { measure: 'llm_cost', field: 'detailedCost.llmCost', ...unstated, ...same(0.5), ...grown },
      {
        ...{ measure: 'output_tokens', field: 'tokenUsage.cumulativeOutputTokens', unit: 'tokens', ...same(0) },
        ...{ first_day: null, last_day: null },
      },
      { measure: 'speech_cost', field: 'detailedCost.speechGenCost', ...unstated, ...same(1), ...once },
      { measure: 'tokens', field: 'tokenUsage.cumulativeTotalTokens', unit: 'tokens', ...same(130), ...grown },
      { measure: 'tokens_by_model', field: `${path}.totalTokens`, unit: 'tokens', booked: 95, ...byModel },
      { measure: 'tokens_usd', field: 'tokenUsage.cumulativeUsd', unit: 'USD', ...same(0.75), ...grown },
      { measure: 'tokens_usd_by_model', field: `${path}.usd`, unit: 'USD', booked: 0.5, ...byModel },
      { measure: 'transcriber_cost', field: 'detailedCost.transcriberCost', ...unstated, ...same(2), ...once },
    ])
  })
})
