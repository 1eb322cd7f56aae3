// Each declared metric equals SQL that was written by hand, over the tables below the marts where there are some.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import { answerMetrics } from '../../src/metrics/answer-metrics.ts'
import { columnsOf } from '../../src/metrics/dimensions.ts'
import { metricsRequest } from '../../src/metrics/request.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { metricsPage } from '../metrics-page.ts'
import { corpusWarehouse } from '../warehouse/corpus/template.ts'

const app = corpusWarehouse()

const PERIOD = { from: '2020-01-01', to: '2030-12-31' }

/** Conversations that count, from the table. */
const C = `(SELECT *, greatest(resolved_at, NULL) AS done_at FROM conversations WHERE _complete AND coalesce(is_test, false) = false AND day BETWEEN '${PERIOD.from}' AND '${PERIOD.to}')`
/** Rows of a mart in the period. */
const M = (name: string, where = 'is_counted') =>
  `(FROM marts.${name} WHERE ${where} AND day BETWEEN '${PERIOD.from}' AND '${PERIOD.to}')`
const FACTS = M('fct_conversations')
const rate = (condition: string, of = 'true', from = FACTS) =>
  `SELECT sum(CASE WHEN (${of}) AND (${condition}) THEN 1.0 ELSE 0 END) / nullif(sum(CASE WHEN ${of} THEN 1 ELSE 0 END), 0) FROM ${from}`
const middle = (column: string, from = FACTS, q = 0.5) =>
  `SELECT list_aggregate(list(${column}) FILTER (${column} IS NOT NULL), 'quantile_cont', ${q}) FROM ${from}`
/** Handoffs by their own day. A duration is unknown if the times are in the wrong order, or if it lasts ten years. */
const CONVERSATION_HANDOFFS = `(SELECT *, CASE WHEN NOT is_odd THEN epoch(accepted_at) - epoch(requested_at) END AS wait,
    CASE WHEN NOT is_odd THEN epoch(completed_at) - epoch(accepted_at) END AS handling
  FROM (SELECT h.*, coalesce(h.accepted_at < h.requested_at OR h.completed_at < h.accepted_at OR epoch(h.accepted_at) - epoch(h.requested_at) > 3e8, false) AS is_odd
    FROM conversation_handoffs h JOIN conversations c USING (workspace_id, agent_id, conversation_id) LEFT JOIN _workspaces w USING (workspace_id)
    WHERE c._complete AND coalesce(c.is_test, false) = false AND c.day IS NOT NULL
      AND coalesce((h.requested_at AT TIME ZONE coalesce(w.time_zone, 'UTC'))::DATE, c.day) BETWEEN '${PERIOD.from}' AND '${PERIOD.to}'))`
const WAITS = (condition: string) => M('fct_responses', `is_counted AND ${condition}`)

/** Conversations that were open at the end of the newest day that all exported workspaces have. */
const OPEN_CONVERSATIONS = `SELECT f.*, today, w.time_zone AS zone FROM marts.fct_conversations f JOIN _workspaces w USING (workspace_id),
    (SELECT min(last) AS today FROM (SELECT max(day) AS last FROM marts.coverage_daily GROUP BY workspace_id))
  WHERE is_counted AND workspace_id IN (SELECT workspace_id FROM marts.coverage_daily)
    AND (started_at AT TIME ZONE coalesce(w.time_zone, 'UTC'))::DATE <= today
    AND NOT coalesce((closed_at AT TIME ZONE coalesce(w.time_zone, 'UTC'))::DATE <= today, false)`
const LEVEL = (condition: string) => `SELECT count(*) FROM (${OPEN_CONVERSATIONS}) WHERE ${condition}`

const BY_HAND: Record<string, string> = {
  conversations: `SELECT count(*) FROM ${C}`,
  contacts: `SELECT count(*) FROM (SELECT contact_id FROM ${FACTS} WHERE contact_id IS NOT NULL GROUP BY contact_id)`,
  messages_per_conversation: `SELECT sum(messages_num) / count(messages_num) FROM ${C}`,
  sessions: `SELECT coalesce(sum(sessions_num), 0) FROM ${C}`,
  conversation_duration_median: `SELECT median(s) FROM (SELECT epoch(last_message_ts) - epoch(coalesce(first_message_ts, ts)) AS s FROM ${C}) WHERE s >= 0 AND s < 315576000`,
  transcript_share: `SELECT count(*) FILTER (conversation_id IN (SELECT conversation_id FROM conversation_turns t WHERE t.workspace_id = c.workspace_id AND t.agent_id = c.agent_id)) / count(*) FROM ${C} c`,
  involvement_rate: rate('agent_took_part'),
  automation_rate: rate('is_resolved AND agent_took_part AND NOT person_took_part'),
  agent_resolution_rate: rate('is_resolved AND NOT person_took_part', 'agent_took_part'),
  takeover_rate: rate('person_took_part'),
  resolution_rate: rate('was_resolved'),
  resolved_by_person_rate: rate('is_resolved AND person_took_part'),
  reopening_rate: rate('was_reopened', 'was_resolved'),
  abandonment_rate: rate(`outcome = 'abandoned'`),
  unresolved_rate: rate(`outcome = 'ended_unresolved'`),
  open_conversations: `SELECT count(*) FROM ${FACTS} WHERE closed_at IS NULL AND outcome = 'open'`,
  time_to_resolution_median: middle('seconds_to_first_resolution'),
  first_response_median: middle('first_response_seconds'),
  first_human_response_median: middle('first_human_response_seconds'),
  agent_reply_median: middle(
    'wait_seconds',
    WAITS(`metric IN ('first_response', 'next_response') AND responder = 'agent'`),
  ),
  person_reply_median: middle(
    'wait_business_seconds',
    WAITS(`metric IN ('first_response', 'next_response') AND responder = 'person'`),
  ),
  sla_met_rate: rate('is_met', 'is_met IS NOT NULL', WAITS('sla_name IS NOT NULL')),
  sla_unjudged_rate: rate('is_met IS NULL', 'true', WAITS('sla_name IS NOT NULL')),
  handoffs: `SELECT count(*) FROM ${CONVERSATION_HANDOFFS}`,
  handoff_acceptance_rate: `SELECT count(accepted_at) / count(*) FROM ${CONVERSATION_HANDOFFS}`,
  handoff_wait_median: `SELECT median(wait) FROM ${CONVERSATION_HANDOFFS} WHERE wait >= 0`,
  handoff_wait_p90: `SELECT quantile_cont(wait, 0.9) FROM ${CONVERSATION_HANDOFFS} WHERE wait >= 0`,
  handoff_handling_median: `SELECT median(handling) FROM ${CONVERSATION_HANDOFFS} WHERE handling >= 0`,
  csat_score: `SELECT avg(csat_satisfaction10) FROM ${C} WHERE csat_satisfaction10 >= 0`,
  csat_ease: `SELECT avg(csat_ease10) FROM ${C} WHERE csat_ease10 >= 0`,
  rating: `SELECT avg(rating_from5) FROM ${C} WHERE rating_from5 >= 0`,
  csat_answers: `SELECT count(*) FROM ${C} WHERE csat_satisfaction10 >= 0`,
  csat_answer_rate: `SELECT count(*) FILTER (csat_satisfaction10 >= 0) / count(*) FROM ${C}`,
  tokens_usd: `SELECT sum(tokens_usd) FROM ${M('fct_spend')}`,
  credits: `SELECT sum(credits) FROM ${M('fct_spend')}`,
  llm_cost: `SELECT sum(llm_cost) FROM ${M('fct_spend')}`,
  speech_cost: `SELECT sum(speech_cost) FROM ${M('fct_spend')}`,
  transcriber_cost: `SELECT sum(transcriber_cost) FROM ${M('fct_spend')}`,
  call_cost: `SELECT sum(call_cost) FROM ${M('fct_spend')}`,
  tokens: `SELECT sum(tokens) FROM ${M('fct_spend')}`,
  model_tokens_usd: `SELECT sum(tokens_usd) FROM ${M('token_usage_daily', 'true')}`,
  usd_per_conversation: `SELECT sum(token_usage_cumulative_usd) / count(*) FROM ${C}`,
  usd_per_resolved: `SELECT sum(tokens_usd) / nullif(sum(was_resolved::INTEGER), 0) FROM ${FACTS}`,
  leads: `SELECT count(*) FROM ${C} WHERE trim(stage) <> '' OR value IS NOT NULL`,
  lead_value: `SELECT sum(value) FROM ${C} WHERE upper(trim(currency)) = 'EUR'`,
  lead_score: `SELECT avg(lead_score) FROM ${C} WHERE trim(stage) <> '' OR value IS NOT NULL`,
  funnel_conversations: `SELECT count(*) FROM (SELECT DISTINCT s._record, s.step FROM conversation_funnel_steps s JOIN ${C} USING (_record) WHERE trim(s.step) <> '')`,
  tagged_conversations: `SELECT count(*) FROM (SELECT DISTINCT t._record, t.tag FROM conversation_tags t JOIN ${C} USING (_record) WHERE trim(t.tag) <> '')`,
  tag_resolved_rate: `SELECT avg(coalesce(is_resolved, resolved_at IS NOT NULL)::INTEGER) FROM (SELECT DISTINCT t._record, t.tag, c.is_resolved, c.resolved_at FROM conversation_tags t JOIN ${C} c USING (_record) WHERE trim(t.tag) <> '')`,
  tag_csat_score: `SELECT avg(csat_satisfaction10) FROM (SELECT DISTINCT t._record, t.tag, c.csat_satisfaction10 FROM conversation_tags t JOIN ${C} c USING (_record) WHERE trim(t.tag) <> '' AND csat_satisfaction10 >= 0)`,
  person_handoffs_accepted: `SELECT count(*) FROM ${CONVERSATION_HANDOFFS} WHERE trim(accepted_by) <> '' AND accepted_at IS NOT NULL`,
  person_assigned: `SELECT count(*) FROM ${C} WHERE coalesce(nullif(trim(chat_assigned_to), ''), nullif(trim(assigned_to_user_id), '')) IS NOT NULL`,
  person_resolutions: `SELECT sum(resolutions) FROM ${M('people_daily', 'true')}`,
  backlog_open: LEVEL('true'),
  backlog_waiting: `SELECT count(*) FROM marts.fct_handoffs h JOIN (${OPEN_CONVERSATIONS}) o USING (workspace_id, agent_id, conversation_id)
    WHERE h.requested_at IS NOT NULL AND h.day <= o.today AND NOT coalesce((coalesce(h.accepted_at, h.completed_at) AT TIME ZONE coalesce(o.zone, 'UTC'))::DATE <= o.today, false)`,
  backlog_older_than_1_day: LEVEL('day < today'),
  backlog_older_than_7_days: LEVEL('day < today - 6'),
}

let columns: Set<string>
beforeAll(async () => {
  const rows = rowsHere(app.warehouse.instance, { timeoutMs: 60_000 })
  const all = await rows<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM duckdb_columns() WHERE schema_name = 'marts'`,
  )
  columns = new Set(all.map(({ name }) => name))
})

describe('each declared metric', () => {
  it('has columns for its dimensions', () => {
    const lacking = METRICS.flatMap(({ name, mart, dimensions }) =>
      ['day', ...columnsOf(dimensions)].flatMap(column =>
        columns.has(`${mart}.${column}`) ? [] : [`${name}: ${mart}.${column}`],
      ),
    )
    expect(lacking).toEqual([])
  })

  it('equals SQL written by hand', async () => {
    const rows = rowsHere(app.warehouse.instance, { timeoutMs: 60_000 })
    expect(Object.keys(BY_HAND).sort()).toEqual(METRICS.map(({ name }) => name).sort())
    const metrics = METRICS.map(metric => ({ ...metric, minimum: Math.min(1, metric.minimum), needsCoverage: false }))
    const exported = await rows<{ id: string }>('SELECT DISTINCT workspace_id AS id FROM marts.coverage_daily')
    for (const metric of metrics) {
      const filters = {
        ...(metric.unitBy && { [metric.unitBy]: ['EUR'] }),
        ...(metric.isLevel && { workspace: exported.map(({ id }) => id) }),
      }
      const request = metricsRequest.parse({ metrics: [metric.name], period: PERIOD, filters })
      const [answer] = await answerMetrics({ rows, columns, metrics }, request)
      const [byHand] = await rows<Record<string, number | string | null>>(
        `SELECT (${BY_HAND[metric.name]})::DOUBLE AS value`,
      )
      const value = answer!.series.at(-1)!.total!.value
      if (byHand!.value === null) expect([metric.name, value]).toEqual([metric.name, null])
      else expect([metric.name, value]).toEqual([metric.name, expect.closeTo(Number(byHand!.value), 6)])
    }
  })
})

it('docs/metrics.md is current (`npm run docs`)', () => {
  expect(readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8')).toBe(metricsPage())
})
