-- fct_spend: one row for each conversation and day on which its costs grew.
-- Grain: workspace_id, agent_id, conversation_id, day
-- Month: day
-- Refresh: conversations
-- Built from: conversations, conversation_observations, marts.dim_agents
-- Use: costs by day. The vendor reports cumulative costs, so a row has the growth between two observations, booked on the day of the last message
-- before the later one (else of the record's change). All rows of a conversation add up to its costs in fct_conversations. A conversation that was
-- observed once has one row. An observation that arrives later, but is older, may move costs between days; a cost that the vendor corrects is a
-- negative growth.
-- Example:
-- SELECT conversation_id, sum(tokens_usd) AS usd FROM marts.fct_spend
-- WHERE is_counted AND day = '2026-10-31' GROUP BY conversation_id ORDER BY usd DESC LIMIT 20;
-- Columns:
--   workspace_id      VARCHAR  none  Workspace
--   agent_id          VARCHAR  none  Agent
--   conversation_id   VARCHAR  none  Conversation
--   day               DATE     none  Day of the spending in the workspace's time zone
--   agent_title       VARCHAR  none  Title of the agent
--   channel           VARCHAR  none  Channel of the conversation; `unknown` if none was reported
--   is_counted        BOOLEAN  none  The conversation counts in aggregates
--   input_tokens      BIGINT   none  Input tokens
--   output_tokens     BIGINT   none  Output tokens
--   tokens            BIGINT   none  All tokens
--   tokens_usd        DOUBLE   none  Cost of the tokens (USD)
--   credits           DOUBLE   none  Credits
--   llm_cost          DOUBLE   none  Language model (unit not stated)
--   speech_cost       DOUBLE   none  Speech generation (unit not stated)
--   transcriber_cost  DOUBLE   none  Transcription (unit not stated)
--   call_cost         DOUBLE   none  External call (unit not stated)
WITH seen AS (
  SELECT workspace_id, agent_id, conversation_id, 0 AS rank, version, observed_at, least(last_message_ts, version) AS spent_at,
    token_usage_cumulative_input_tokens AS input_tokens, token_usage_cumulative_output_tokens AS output_tokens,
    token_usage_cumulative_total_tokens AS tokens, token_usage_cumulative_usd AS tokens_usd,
    detailed_cost_total_credits_consumed AS credits, detailed_cost_llm_cost AS llm_cost, detailed_cost_speech_gen_cost AS speech_cost,
    detailed_cost_transcriber_cost AS transcriber_cost, ext_cost AS call_cost
  FROM scoped('conversation_observations')
  UNION ALL
  -- The record itself comes last, so that the rows add up to its costs.
  SELECT workspace_id, agent_id, conversation_id, 1, _version, _as_of, least(last_message_ts, _version),
    token_usage_cumulative_input_tokens, token_usage_cumulative_output_tokens, token_usage_cumulative_total_tokens, token_usage_cumulative_usd,
    detailed_cost_total_credits_consumed, detailed_cost_llm_cost, detailed_cost_speech_gen_cost, detailed_cost_transcriber_cost, ext_cost
  FROM scoped('conversations')
),
grown AS (
  SELECT workspace_id, agent_id, conversation_id, spent_at,
    input_tokens::HUGEINT - coalesce(lag(input_tokens IGNORE NULLS) OVER before, 0) AS input_tokens,
    output_tokens::HUGEINT - coalesce(lag(output_tokens IGNORE NULLS) OVER before, 0) AS output_tokens,
    tokens::HUGEINT - coalesce(lag(tokens IGNORE NULLS) OVER before, 0) AS tokens,
    tokens_usd - coalesce(lag(tokens_usd IGNORE NULLS) OVER before, 0) AS tokens_usd,
    credits - coalesce(lag(credits IGNORE NULLS) OVER before, 0) AS credits,
    llm_cost - coalesce(lag(llm_cost IGNORE NULLS) OVER before, 0) AS llm_cost,
    speech_cost - coalesce(lag(speech_cost IGNORE NULLS) OVER before, 0) AS speech_cost,
    transcriber_cost - coalesce(lag(transcriber_cost IGNORE NULLS) OVER before, 0) AS transcriber_cost,
    call_cost - coalesce(lag(call_cost IGNORE NULLS) OVER before, 0) AS call_cost
  FROM seen
  WINDOW before AS (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY rank, version, observed_at,
    tokens, tokens_usd, input_tokens, output_tokens, credits, llm_cost, speech_cost, transcriber_cost, call_cost)
)
SELECT
  g.workspace_id, g.agent_id, g.conversation_id,
  local_day(g.spent_at, w.time_zone) AS day,
  d.agent_title, or_unknown(c.channel) AS channel,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  total(g.input_tokens) AS input_tokens, total(g.output_tokens) AS output_tokens, total(g.tokens) AS tokens,
  sum(g.tokens_usd) AS tokens_usd, sum(g.credits) AS credits, sum(g.llm_cost) AS llm_cost, sum(g.speech_cost) AS speech_cost,
  sum(g.transcriber_cost) AS transcriber_cost, sum(g.call_cost) AS call_cost
FROM grown g
JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
LEFT JOIN _workspaces w USING (workspace_id)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
WHERE g.input_tokens <> 0 OR g.output_tokens <> 0 OR g.tokens <> 0 OR g.tokens_usd <> 0 OR g.credits <> 0 OR g.llm_cost <> 0
  OR g.speech_cost <> 0 OR g.transcriber_cost <> 0 OR g.call_cost <> 0
GROUP BY ALL
