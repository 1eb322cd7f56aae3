// Daily figures add up to the facts that they count, in every workspace of the corpus.
import { describe, expect, it } from 'vitest'
import { corpusWarehouse } from '../corpus/template.ts'

const app = corpusWarehouse()

interface Sums {
  daily: string
  /** Facts, without those of conversations that do not count. */
  facts: string
  /** Columns of the daily mart, and their sums over the facts. */
  sums: Record<string, string>
}

const COSTS = [
  ...['input_tokens', 'output_tokens', 'tokens', 'tokens_usd', 'credits'],
  ...['llm_cost', 'speech_cost', 'transcriber_cost', 'call_cost'],
]
const SPENT = Object.fromEntries(COSTS.map(name => [name, `sum(${name})`]))
const LIFETIME = Object.fromEntries(COSTS.map(name => [`lifetime_${name}`, `sum(${name})`]))

const PAIRS: Sums[] = [
  {
    ...{ daily: 'people_daily', facts: 'fct_resolutions' },
    sums: { resolutions: `count(nullif(resolved_by, ''))`, resolved: `count(nullif(resolved_by, ''))` },
  },
  {
    daily: 'conversations_daily',
    facts: 'fct_conversations',
    sums: {
      ...{ conversations: 'count(*)', messages: 'sum(messages)', sessions: 'sum(sessions)', handoffs: 'sum(handoffs)' },
      ...{ ever_resolved: 'count(*) FILTER (was_resolved)', reopened: 'count(*) FILTER (was_reopened)' },
      ...{ handoff_waits: 'sum(handoff_waits)', reversed_times: 'sum(reversed_times)' },
      ...{ rating_from5_sum: 'sum(rating_from5)', ratings: 'count(rating_from5)' },
      ...{ handoff_wait_seconds_sum: 'sum(handoff_wait_seconds)', csat_score_sum: 'sum(csat_score)' },
      ...{ csat_answers: 'count(csat_score)', seconds_to_first_resolution_sum: 'sum(seconds_to_first_resolution)' },
      ...{ seconds_to_assignment_sum: 'sum(seconds_to_assignment)', first_assignments: 'count(seconds_to_assignment)' },
      ...{ tokens: 'sum(tokens)', tokens_usd: 'sum(tokens_usd)', credits: 'sum(credits)' },
    },
  },
  {
    daily: 'conversations_daily',
    facts: 'fct_handoffs',
    sums: {
      ...{ handoffs: 'count(*)', handoffs_accepted: 'count(accepted_at)' },
      ...{ handoff_waits: 'count(wait_seconds)', handoff_wait_seconds_sum: 'sum(wait_seconds)' },
    },
  },
  {
    daily: 'conversations_daily',
    facts: 'fct_csat',
    sums: {
      ...{ csat_score_sum: 'sum(csat_score)', csat_answers: 'count(csat_score)' },
      ...{ csat_ease_sum: 'sum(csat_ease)', csat_ease_answers: 'count(csat_ease)' },
    },
  },
  { daily: 'conversations_daily', facts: 'fct_leads', sums: { leads: 'count(*)' } },
  { daily: 'pipeline_daily', facts: 'fct_leads', sums: { leads: 'count(*)', lead_value_sum: 'sum(lead_value)' } },
  {
    daily: 'token_usage_daily',
    facts: 'fct_token_usage',
    sums: {
      ...{ input_tokens: 'sum(input_tokens)', output_tokens: 'sum(output_tokens)', tokens: 'sum(tokens)' },
      ...{ tokens_usd: 'sum(tokens_usd)', cost: 'sum(cost)' },
    },
  },
  { daily: 'spend_daily', facts: 'fct_spend', sums: SPENT },
  { daily: 'spend_daily', facts: 'fct_conversations', sums: LIFETIME },
  {
    daily: 'people_daily',
    facts: 'fct_conversations',
    sums: { assigned: 'count(assignee_id)', resolved: 'count(resolved_by) FILTER (is_resolved)' },
  },
  {
    daily: 'people_daily',
    facts: 'fct_handoffs',
    sums: { handoffs_accepted: 'count(accepted_by) FILTER (is_accepted)' },
  },
  { daily: 'dim_contacts', facts: 'fct_conversations', sums: { conversations: 'count(contact_id)' } },
]

describe('figures', () => {
  it.each(PAIRS)('of $daily add up to $facts', async ({ daily, facts, sums }) => {
    const summed = (of: (column: string, fact: string) => string, from: string) =>
      app.warehouse.writer.rows(
        `SELECT workspace_id, ${Object.entries(sums)
          .map(([column, fact]) => `round(coalesce(${of(column, fact)}, 0)::DOUBLE, 6) AS ${column}`)
          .join(', ')} FROM ${from} GROUP BY ALL ORDER BY ALL`,
      )
    const expected = await summed((_, fact) => fact, `marts.${facts} WHERE is_counted`)
    const found = await summed(column => `sum(${column})`, `marts.${daily}`)
    const isSome = (row: Record<string, unknown>) =>
      Object.values(row).some(value => typeof value === 'number' && value !== 0)
    expect(expected.filter(isSome).length).toBeGreaterThan(0)
    expect(found.filter(isSome)).toEqual(expected.filter(isSome))
  })

  it('of models that a record still names are those of the record', async () => {
    const of = (sums: string, from: string) =>
      app.warehouse.writer.rows(`SELECT conversation_id, model_id, ${sums} FROM ${from} GROUP BY ALL ORDER BY ALL`)
    const where = `WHERE workspace_id = 'spending'`
    const sums = (tokens: string, usd: string) =>
      `sum(input_tokens)::BIGINT AS input_tokens, sum(${tokens})::BIGINT AS tokens, sum(${usd}) AS usd, sum(cost) AS cost`
    const records = await of(sums('total_tokens', 'usd'), `token_usage_by_model ${where}`)
    expect(records).toHaveLength(3)
    const named = `${where} AND model_id NOT IN ('beta', 'unknown')`
    expect(await of(sums('tokens', 'tokens_usd'), `marts.fct_token_usage ${named}`)).toEqual(records)
  })
})
