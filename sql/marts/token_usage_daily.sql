-- token_usage_daily: one row for each agent, model and day with token usage.
-- Grain: workspace_id, agent_id, model_id, day
-- Month: day
-- Refresh: groups
-- Built from: marts.fct_token_usage
-- Use: tokens and their cost by model and day. Only conversations that count (`is_counted`). Usage belongs to the day on which it was spent, whenever
-- the conversation began. Joins dim_calendar by `day` for weeks and months.
-- Example:
-- SELECT model_id, sum(tokens) AS tokens, sum(tokens_usd) AS usd
-- FROM marts.token_usage_daily WHERE day >= '2026-10-01' AND day < '2026-11-01'
-- GROUP BY model_id ORDER BY usd DESC;
-- Columns:
--   workspace_id   VARCHAR  none  Workspace
--   agent_id       VARCHAR  none  Agent
--   model_id       VARCHAR  none  Model, as the vendor names it
--   day            DATE     none  Day in the workspace's time zone
--   agent_title    VARCHAR  none  Title of the agent
--   conversations  BIGINT   none  Conversations whose usage of the model grew; one may count on several days
--   input_tokens   BIGINT   none  Input tokens
--   output_tokens  BIGINT   none  Output tokens
--   tokens         BIGINT   none  All tokens
--   tokens_usd     DOUBLE   none  Cost of the tokens (USD)
--   cost           DOUBLE   none  Cost, where the vendor reports it under that name (unit not stated)
SELECT
  workspace_id, agent_id, model_id, day, any_value(agent_title) AS agent_title, count(*) AS conversations,
  coalesce(total(input_tokens), 0) AS input_tokens, coalesce(total(output_tokens), 0) AS output_tokens,
  coalesce(total(tokens), 0) AS tokens, coalesce(fsum(tokens_usd), 0) AS tokens_usd, coalesce(fsum(cost), 0) AS cost
FROM in_groups('marts.fct_token_usage') WHERE is_counted GROUP BY ALL
