-- credits: one row for each agent and cost measure of the record, over all days.
-- Grain: workspace_id, agent_id, measure
-- Refresh: whole
-- Built from: marts.spend_daily, marts.token_usage_daily
-- Use: all cost measures of an agent, each reconciled: what the conversations' records report now, and what is booked on days (fct_spend), are the same. Only
-- conversations that count (`is_counted`). The vendor does not say whether one measure includes another, and states no unit for most: a row is one measure, and
-- rows of different measures are never added up. The measures by model come from another object of the record, and need not equal its totals: a model that
-- later records no longer name keeps what it has used, so they have no `reported`.
-- Example:
-- SELECT measure, unit, sum(booked) AS booked, sum(reported) AS reported, sum(difference) AS difference FROM marts.credits GROUP BY measure, unit ORDER BY measure;
-- Columns:
--   workspace_id  VARCHAR  none  Workspace
--   agent_id      VARCHAR  none  Agent
--   measure       VARCHAR  none  Measure, as the columns of fct_spend are named; `..._by_model`: added up over models
--   agent_title   VARCHAR  none  Title of the agent
--   field         VARCHAR  none  Field of the conversation's record
--   unit          VARCHAR  none  tokens, USD, credits, or `not stated`
--   booked        DOUBLE   none  Booked on days, in total
--   reported      DOUBLE   none  Reported by the conversations' records, in total
--   difference    DOUBLE   none  `booked` less `reported`, to six digits: 0, or what records no longer report that did before
--   first_day     DATE     none  First day with a booking
--   last_day      DATE     none  Last day with a booking
WITH measured AS (
  SELECT workspace_id, agent_id, agent_title, day, unnest([
    {measure: 'input_tokens', field: 'tokenUsage.cumulativeInputTokens', unit: 'tokens', booked: input_tokens::DOUBLE, reported: lifetime_input_tokens::DOUBLE},
    {measure: 'output_tokens', field: 'tokenUsage.cumulativeOutputTokens', unit: 'tokens', booked: output_tokens::DOUBLE, reported: lifetime_output_tokens::DOUBLE},
    {measure: 'tokens', field: 'tokenUsage.cumulativeTotalTokens', unit: 'tokens', booked: tokens::DOUBLE, reported: lifetime_tokens::DOUBLE},
    {measure: 'tokens_usd', field: 'tokenUsage.cumulativeUsd', unit: 'USD', booked: tokens_usd::DOUBLE, reported: lifetime_tokens_usd::DOUBLE},
    {measure: 'credits', field: 'detailedCost.totalCreditsConsumed', unit: 'credits', booked: credits::DOUBLE, reported: lifetime_credits::DOUBLE},
    {measure: 'llm_cost', field: 'detailedCost.llmCost', unit: 'not stated', booked: llm_cost::DOUBLE, reported: lifetime_llm_cost::DOUBLE},
    {measure: 'speech_cost', field: 'detailedCost.speechGenCost', unit: 'not stated', booked: speech_cost::DOUBLE, reported: lifetime_speech_cost::DOUBLE},
    {measure: 'transcriber_cost', field: 'detailedCost.transcriberCost', unit: 'not stated', booked: transcriber_cost::DOUBLE, reported: lifetime_transcriber_cost::DOUBLE},
    {measure: 'call_cost', field: 'ext.cost', unit: 'not stated', booked: call_cost::DOUBLE, reported: lifetime_call_cost::DOUBLE}
  ]) AS m FROM marts.spend_daily
  UNION ALL
  SELECT workspace_id, agent_id, agent_title, day, unnest([
    {measure: 'tokens_by_model', field: 'tokenUsage.usagePerModel.*.totalTokens', unit: 'tokens', booked: tokens::DOUBLE, reported: NULL::DOUBLE},
    {measure: 'tokens_usd_by_model', field: 'tokenUsage.usagePerModel.*.usd', unit: 'USD', booked: tokens_usd::DOUBLE, reported: NULL::DOUBLE},
    {measure: 'cost_by_model', field: 'tokenUsage.usagePerModel.*.cost', unit: 'not stated', booked: cost::DOUBLE, reported: NULL::DOUBLE}
  ]) FROM marts.token_usage_daily
)
SELECT
  workspace_id, agent_id, m.measure AS measure, any_value(agent_title) AS agent_title, m.field AS field, m.unit AS unit,
  round(fsum(m.booked), 6) AS booked, round(fsum(m.reported), 6) AS reported, round(fsum(m.booked) - fsum(m.reported), 6) AS difference,
  min(day) FILTER (m.booked <> 0) AS first_day, max(day) FILTER (m.booked <> 0) AS last_day
FROM measured GROUP BY workspace_id, agent_id, m.measure, m.field, m.unit
