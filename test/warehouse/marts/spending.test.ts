// Token usage by model and leads of a handful of conversations, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { AGENT, landAgents, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const START = Date.UTC(2026, 10, 1, 2)

/** A conversation as it was exported on a day, with the usage of its models so far. */
const seenOn = (day: number, usagePerModel: unknown, more: Record<string, unknown> = {}) => ({
  ...{ ID: 'long', firstMessageTS: START, lastMessageTS: START + day * DAY, lastModified: START + day * DAY + MINUTE },
  tokenUsage: { usagePerModel },
  ...more,
})

const EXPORTS = [
  [
    // Each of the names under which a value may stand.
    seenOn(0, {
      alpha: { inputTokens: 10, outputTokens: 5, totalTokens: 15, usd: 0.25, cost: 1 },
      beta: { promptTokens: 4, completionTokens: '2', cumulativeTotalTokens: 6, costUsd: 0.5 },
    }),
    seenOn(0, { alpha: { inputTokens: 1_000 } }, { ID: 'test', isTest: true }),
    seenOn(0, ['alpha'], { ID: 'a list' }),
  ],
  // Nothing was spent on the second day.
  [
    seenOn(1, {
      alpha: { inputTokens: 10, outputTokens: 5, totalTokens: 15, usd: 0.25, cost: 1 },
      beta: { cumulativeInputTokens: 4, cumulativeOutputTokens: 2, cumulativeTotalTokens: 6, cumulativeUsd: 0.5 },
    }),
  ],
  // The third day names another model, and one no more. A value that is no number is none.
  [
    seenOn(2, {
      alpha: { inputTokens: 30, outputTokens: { of: 7 }, totalTokens: 40, usd: 0.75, cost: 1 },
      gamma: { totalTokens: 8 },
    }),
  ],
]

const LEADS = [
  {
    ID: 'euros',
    stage: 'won',
    value: 10,
    currency: ' eur',
    chatAssignedTo: 'ada',
    assignedTo: { userId: 'ada', name: 'Ada' },
  },
  {
    ID: 'more euros',
    stage: 'won',
    value: 5,
    currency: 'EUR',
    source: 'web',
    hotScore: 3,
    hotLabel: 'hot',
    leadScore: 7,
  },
  { ID: 'dollars', stage: 'lost', value: 100, currency: 'USD', lostReason: 'price' },
  { ID: 'no currency', stage: 'won', value: 1_000 },
  { ID: 'no stage', value: 3, currency: '' },
  { ID: 'no lead', stage: '', currency: 'EUR' },
  { ID: 'a test lead', stage: 'won', value: 7, currency: 'EUR', isTest: true },
].map(lead => ({ firstMessageTS: START, lastModified: START, userPlatform: 'whatsapp', ...lead }))

let workspace: Workspace

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'America/Los_Angeles' })
  const { landing, load } = workspace
  await load(await landAgents(landing, { agents: [{ ID: AGENT, title: 'Support' }] }))
  for (const [index, records] of EXPORTS.entries())
    await load(await landConversations(landing, { records, sentAtMs: SENT_AT_MS + index * MINUTE }))
  await load(await landConversations(landing, { records: LEADS }))
  await refreshMarts(app.warehouse.writer)
})

describe('fct_token_usage', () => {
  it('books the growth of each model on the day on which it was spent', async () => {
    const rows = await workspace.rows(
      'marts.fct_token_usage',
      'conversation_id, model_id, day, is_counted, input_tokens, output_tokens, tokens, tokens_usd, cost',
    )
    const of = { conversation_id: 'long', is_counted: true, output_tokens: null, cost: null }
    expect(rows).toEqual([
      {
        ...{ ...of, model_id: 'alpha', day: '2026-10-31', input_tokens: '10', output_tokens: '5', tokens: '15' },
        ...{ tokens_usd: 0.25, cost: 1 },
      },
      {
        ...{ ...of, model_id: 'alpha', day: '2026-11-02', input_tokens: '20', tokens: '25', tokens_usd: 0.5, cost: 0 },
      },
      {
        ...{ ...of, model_id: 'beta', day: '2026-10-31', input_tokens: '4', output_tokens: '2', tokens: '6' },
        tokens_usd: 0.5,
      },
      { ...of, model_id: 'gamma', day: '2026-11-02', input_tokens: null, tokens: '8', tokens_usd: null },
      {
        ...{ ...of, conversation_id: 'test', model_id: 'alpha', day: '2026-10-31', is_counted: false },
        ...{ input_tokens: '1000', tokens: null, tokens_usd: null },
      },
    ])
  })

  it('adds up to the usage of the record, for each model that it still names', async () => {
    const facts = await app.warehouse.writer.rows(
      `SELECT conversation_id, model_id, sum(input_tokens)::BIGINT AS input_tokens, sum(tokens)::BIGINT AS total_tokens, sum(tokens_usd) AS usd, sum(cost) AS cost
       FROM marts.fct_token_usage WHERE workspace_id = '${workspace.id}' AND model_id <> 'beta' GROUP BY ALL ORDER BY ALL`,
    )
    const records = await workspace.rows(
      'token_usage_by_model',
      'conversation_id, model_id, input_tokens, total_tokens, usd, cost',
    )
    expect(facts).toHaveLength(3)
    expect(facts).toEqual(records)
  })
})

describe('token_usage_daily', () => {
  it('has the usage of conversations that count, by agent, model and day', async () => {
    const of = { agent_id: AGENT, agent_title: 'Support', conversations: '1' }
    expect(await workspace.rows('marts.token_usage_daily')).toEqual([
      {
        ...{ ...of, model_id: 'alpha', day: '2026-10-31', input_tokens: '10', output_tokens: '5', tokens: '15' },
        ...{ tokens_usd: 0.25, cost: 1 },
      },
      {
        ...{ ...of, model_id: 'alpha', day: '2026-11-02', input_tokens: '20', output_tokens: '0', tokens: '25' },
        ...{ tokens_usd: 0.5, cost: 0 },
      },
      {
        ...{ ...of, model_id: 'beta', day: '2026-10-31', input_tokens: '4', output_tokens: '2', tokens: '6' },
        ...{ tokens_usd: 0.5, cost: 0 },
      },
      {
        ...{ ...of, model_id: 'gamma', day: '2026-11-02', input_tokens: '0', output_tokens: '0', tokens: '8' },
        ...{ tokens_usd: 0, cost: 0 },
      },
    ])
  })

  it('adds up to the facts', async () => {
    const sums = `sum(input_tokens)::INTEGER AS input, sum(output_tokens)::INTEGER AS output, sum(tokens)::INTEGER AS tokens, sum(tokens_usd) AS usd, sum(cost) AS cost`
    const facts = await app.warehouse.writer.rows(
      `SELECT ${sums} FROM marts.fct_token_usage WHERE is_counted AND workspace_id = '${workspace.id}'`,
    )
    expect(facts).toEqual([{ input: 34, output: 7, tokens: 54, usd: 1.25, cost: 1 }])
    expect(await workspace.rows('marts.token_usage_daily', sums)).toEqual(facts)
  })
})

describe('fct_leads', () => {
  it('has one row for each lead, with its value in its currency', async () => {
    const none = {
      ...{ agent_id: AGENT, agent_title: 'Support', channel: 'whatsapp', day: '2026-10-31', is_counted: true },
      ...{ lead_score: null, hot_score: null, lead_temperature: null, lead_source: null, lost_reason: null },
      ...{ expected_close_at: null, last_activity_at: null, assignee_id: null, assignee_name: null },
    }
    expect(await workspace.rows('marts.fct_leads')).toEqual([
      {
        ...{ ...none, conversation_id: 'a test lead', is_counted: false },
        ...{ lead_stage: 'won', lead_value: 7, lead_currency: 'EUR' },
      },
      {
        ...{ ...none, conversation_id: 'dollars', lead_stage: 'lost', lead_value: 100, lead_currency: 'USD' },
        lost_reason: 'price',
      },
      {
        ...{ ...none, conversation_id: 'euros', lead_stage: 'won', lead_value: 10, lead_currency: 'EUR' },
        ...{ assignee_id: 'ada', assignee_name: 'Ada' },
      },
      {
        ...{ ...none, conversation_id: 'more euros', lead_stage: 'won', lead_value: 5, lead_currency: 'EUR' },
        ...{ lead_score: 7, hot_score: 3, lead_temperature: 'hot', lead_source: 'web' },
      },
      { ...none, conversation_id: 'no currency', lead_stage: 'won', lead_value: 1_000, lead_currency: 'unknown' },
      { ...none, conversation_id: 'no stage', lead_stage: null, lead_value: 3, lead_currency: 'unknown' },
    ])
  })

  it('has as many leads as the days do', async () => {
    const [row] = await app.warehouse.writer.rows(
      `SELECT count(*)::INTEGER AS leads FROM marts.fct_leads WHERE is_counted AND workspace_id = '${workspace.id}'`,
    )
    expect(row).toEqual({ leads: 5 })
    expect(await workspace.rows('marts.conversations_daily', 'sum(leads)::INTEGER AS leads')).toEqual([row])
  })
})
