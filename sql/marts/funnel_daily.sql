-- funnel_daily: one row for each agent, channel, funnel step and day with a conversation that reached the step.
-- Grain: workspace_id, agent_id, channel, step, day
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Built from: conversations, marts.fct_conversations, marts.dim_agents
-- Rows of: conversation_funnel_steps
-- Use: how far conversations get. Only conversations that count (`is_counted`), on the day on which they began. A conversation counts once for each
-- step that it reached: the rate of a step is its `conversations` by those of an earlier step, or of all conversations (conversations_daily). The vendor
-- does not state the order of the steps: `sum(position_sum) / sum(conversations)`, their average place in the conversations' lists, orders them.
-- Example:
-- SELECT step, sum(conversations) AS conversations, sum(seconds_to_step_sum) / nullif(sum(timed), 0) AS seconds
-- FROM marts.funnel_daily GROUP BY step ORDER BY sum(position_sum) / nullif(sum(conversations), 0), step;
-- Columns:
--   workspace_id         VARCHAR  none   Workspace
--   agent_id             VARCHAR  none   Agent
--   channel              VARCHAR  none   Channel; `unknown` if none was reported
--   step                 VARCHAR  label  The step, as the vendor names it
--   day                  DATE     none   Day on which the conversations began, in the workspace's time zone
--   agent_title          VARCHAR  none   Title of the agent
--   conversations        BIGINT   none   Conversations that reached the step
--   position_sum         BIGINT   none   Sum of the step's first places in their lists of steps, from 1
--   seconds_to_step_sum  DOUBLE   none   Sum of the times from their starts to the step
--   timed                BIGINT   none   Conversations with such a time
--   reversed             BIGINT   none   Conversations that reached the step before their start, as the vendor reports it: in no sum of times
WITH counted AS (
  SELECT _record, workspace_id, agent_id, or_unknown(channel) AS channel, day, coalesce(first_message_ts, ts) AS started_at
  FROM in_groups('conversations') WHERE is_counted(_complete, is_test, day)
),
reached AS (
  SELECT _record, step, min(position) AS position, min(matched_at) AS matched_at FROM conversation_funnel_steps WHERE trim(step) <> '' GROUP BY ALL
)
SELECT
  c.workspace_id, c.agent_id, c.channel, r.step, c.day, any_value(d.agent_title) AS agent_title, count(*) AS conversations,
  sum(r.position)::BIGINT AS position_sum,
  coalesce(fsum(seconds_between(c.started_at, r.matched_at)), 0) AS seconds_to_step_sum,
  count(seconds_between(c.started_at, r.matched_at)) AS timed,
  count(*) FILTER (is_reversed(c.started_at, r.matched_at)) AS reversed
FROM counted c JOIN reached r USING (_record)
LEFT JOIN marts.dim_agents d ON d.workspace_id = c.workspace_id AND d.agent_id = c.agent_id
GROUP BY ALL
