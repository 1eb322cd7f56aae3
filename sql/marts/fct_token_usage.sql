-- fct_token_usage: one row for each conversation, model and day on which its token usage grew.
-- Grain: workspace_id, agent_id, conversation_id, model_id, day
-- Month: day
-- Refresh: conversations
-- Built from: conversations, conversation_observations, marts.dim_agents
-- Use: which conversations used a model on a day. The vendor reports cumulative usage by model, so a row has the growth between two observations,
-- booked on the day of the last message before the later one, as in fct_spend. The rows of a conversation and model add up to its row in
-- token_usage_by_model. A model that later observations no longer name keeps what it has used.
-- Example:
-- SELECT conversation_id, sum(tokens) AS tokens FROM marts.fct_token_usage
-- WHERE is_counted AND model_id = 'gpt-4o' GROUP BY conversation_id ORDER BY tokens DESC LIMIT 20;
-- Columns:
--   workspace_id     VARCHAR  none  Workspace
--   agent_id         VARCHAR  none  Agent
--   conversation_id  VARCHAR  none  Conversation
--   model_id         VARCHAR  none  Model, as the vendor names it
--   day              DATE     none  Day of the use in the workspace's time zone
--   agent_title      VARCHAR  none  Title of the agent
--   channel          VARCHAR  none  Channel of the conversation; `unknown` if none was reported
--   is_counted       BOOLEAN  none  The conversation counts in aggregates
--   input_tokens     BIGINT   none  Input tokens
--   output_tokens    BIGINT   none  Output tokens
--   tokens           BIGINT   none  All tokens
--   tokens_usd       DOUBLE   none  Cost of the tokens (USD)
--   cost             DOUBLE   none  Cost, where the vendor reports it under that name (unit not stated)
WITH reported AS (
  SELECT workspace_id, agent_id, conversation_id, version, observed_at, least(last_message_ts, version) AS spent_at,
    unnest(map_entries(token_usage_per_model::MAP(VARCHAR, JSON))) AS entry
  FROM scoped('conversation_observations') WHERE left(token_usage_per_model::VARCHAR, 1) = '{'
),
-- Names under which the catalog looks for each value (token_usage_by_model). Objects, lists and null do not count.
found AS (
  SELECT * EXCLUDE (entry), entry.key AS model_id,
    list_transform(
      json_extract(entry.value, ['$.inputTokens', '$.cumulativeInputTokens', '$.promptTokens', '$.outputTokens', '$.cumulativeOutputTokens',
        '$.completionTokens', '$.totalTokens', '$.cumulativeTotalTokens', '$.usd', '$.cumulativeUsd', '$.costUsd', '$.cost']),
      lambda j: CASE WHEN left(j::VARCHAR, 1) NOT IN ('{', '[', 'n') THEN j->>'$' END) AS x
  FROM reported
),
texts AS (
  SELECT * EXCLUDE (x), coalesce(x[1], x[2], x[3]) AS input, coalesce(x[4], x[5], x[6]) AS output, coalesce(x[7], x[8]) AS total,
    coalesce(x[9], x[10], x[11]) AS usd, x[12] AS cost
  FROM found
),
seen AS (
  SELECT workspace_id, agent_id, conversation_id, model_id, 0 AS rank, version, observed_at, spent_at,
    parse_count(input) AS input_tokens, parse_count(output) AS output_tokens, parse_count(total) AS tokens,
    parse_number(usd) AS tokens_usd, parse_number(cost) AS cost
  FROM texts
  UNION ALL
  -- The record itself comes last, so that the rows add up to its usage.
  SELECT workspace_id, agent_id, conversation_id, u.model_id, 1, c._version, c._as_of, least(c.last_message_ts, c._version),
    u.input_tokens, u.output_tokens, u.total_tokens, u.usd, u.cost
  FROM scoped('token_usage_by_model') u JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
),
grown AS (
  SELECT workspace_id, agent_id, conversation_id, model_id, spent_at,
    input_tokens::HUGEINT - coalesce(lag(input_tokens IGNORE NULLS) OVER before, 0) AS input_tokens,
    output_tokens::HUGEINT - coalesce(lag(output_tokens IGNORE NULLS) OVER before, 0) AS output_tokens,
    tokens::HUGEINT - coalesce(lag(tokens IGNORE NULLS) OVER before, 0) AS tokens,
    tokens_usd - coalesce(lag(tokens_usd IGNORE NULLS) OVER before, 0) AS tokens_usd,
    cost - coalesce(lag(cost IGNORE NULLS) OVER before, 0) AS cost
  FROM seen
  WINDOW before AS (PARTITION BY workspace_id, agent_id, conversation_id, model_id ORDER BY rank, version, observed_at,
    tokens, tokens_usd, input_tokens, output_tokens, cost)
)
SELECT
  g.workspace_id, g.agent_id, g.conversation_id, or_code(g.model_id) AS model_id, local_day(g.spent_at, w.time_zone) AS day,
  d.agent_title, or_unknown(c.channel) AS channel,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  total(g.input_tokens) AS input_tokens, total(g.output_tokens) AS output_tokens, total(g.tokens) AS tokens,
  sum(g.tokens_usd) AS tokens_usd, sum(g.cost) AS cost
FROM grown g
JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
LEFT JOIN _workspaces w USING (workspace_id)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
WHERE g.input_tokens <> 0 OR g.output_tokens <> 0 OR g.tokens <> 0 OR g.tokens_usd <> 0 OR g.cost <> 0
GROUP BY ALL
