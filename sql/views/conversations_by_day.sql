-- conversations_by_day: volume, handling and cost by day (of the workspace's time zone), agent and channel.
-- One row for each workspace, agent, day and channel that had a conversation. For dashboards: small, and cheap to read.
-- Columns:
--   workspace_id            VARCHAR  none  Workspace
--   agent_id                VARCHAR  none  Agent
--   agent_title             VARCHAR  none  Title of the agent
--   day                     DATE     none  Day of `ts` in the workspace's time zone
--   channel                 VARCHAR  none  Channel
--   conversations           BIGINT   none  Conversations
--   resolved                BIGINT   none  Those that are resolved
--   claimed_by_people       BIGINT   none  Those that a person claimed
--   average_satisfaction10  DOUBLE   none  Average satisfaction, of ten
--   satisfaction_answers    BIGINT   none  Conversations with an answer about satisfaction
--   messages                BIGINT   none  Messages
--   tokens                  BIGINT   none  Tokens
--   tokens_usd              DOUBLE   none  Cost of the tokens (USD)
--   credits                 DOUBLE   none  Credits
CREATE OR REPLACE VIEW conversations_by_day AS
SELECT
  c.workspace_id,
  c.agent_id,
  any_value(a.title) AS agent_title,
  c.day,
  c.channel,
  count(*) AS conversations,
  count(*) FILTER (c.is_resolved) AS resolved,
  count(*) FILTER (c.human_claimed_at IS NOT NULL) AS claimed_by_people,
  avg(c.csat_satisfaction10) AS average_satisfaction10,
  count(c.csat_satisfaction10) AS satisfaction_answers,
  sum(c.messages_num)::BIGINT AS messages,
  sum(c.token_usage_cumulative_total_tokens)::BIGINT AS tokens,
  sum(c.token_usage_cumulative_usd) AS tokens_usd,
  sum(c.detailed_cost_total_credits_consumed) AS credits
FROM conversations c
LEFT JOIN agents a ON a.workspace_id = c.workspace_id AND a.agent_id = c.agent_id
GROUP BY c.workspace_id, c.agent_id, c.day, c.channel;
