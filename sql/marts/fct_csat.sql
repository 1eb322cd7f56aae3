-- fct_csat: one row for each conversation whose satisfaction survey was answered.
-- Grain: workspace_id, agent_id, conversation_id
-- Month: day
-- Refresh: conversations
-- Built from: conversations, marts.dim_agents, marts.dim_people
-- Joins: assignee_id = dim_people.user_id, resolved_by = dim_people.user_id
-- Shared: assignee_name, resolved_by_name
-- Use: satisfaction by the day of the answer (conversations_daily has it by the day on which the conversation began). An average is `sum(csat_score) /
-- count(csat_score)` over rows, never an average of daily averages. The vendor does not state the range of the scores. A later answer to the same
-- conversation replaces the earlier one.
-- Example:
-- SELECT month_begin, avg(csat_score) AS score, count(csat_score) AS answers
-- FROM marts.fct_csat JOIN marts.dim_calendar USING (workspace_id, day)
-- WHERE is_counted GROUP BY month_begin ORDER BY month_begin;
-- Columns:
--   workspace_id      VARCHAR      none     Workspace
--   agent_id          VARCHAR      none     Agent
--   conversation_id   VARCHAR      none     Conversation
--   agent_title       VARCHAR      none     Title of the agent
--   channel           VARCHAR      none     Channel of the conversation; `unknown` if none was reported
--   day               DATE         none     Day of the answer in the workspace's time zone, else of the conversation
--   conversation_day  DATE         none     Day of the conversation
--   is_counted        BOOLEAN      none     The conversation counts in aggregates
--   submitted_at      TIMESTAMPTZ  none     When the survey was answered
--   csat_score        DOUBLE       none     Satisfaction (range not stated); NULL if negative, which is a data issue
--   csat_ease         DOUBLE       none     Ease, likewise
--   has_comment       BOOLEAN      none     The contact left a comment
--   comment           VARCHAR      content  The comment
--   survey_channel    VARCHAR      word     Channel of the survey; `unknown` if none is stated
--   survey_version    DOUBLE       none     Version of the survey
--   was_handed_off    BOOLEAN      none     The conversation had a handoff to people
--   assignee_id       VARCHAR      staff    Current assignee of the conversation
--   assignee_name     VARCHAR      staff    Name of the assignee
--   resolved_by       VARCHAR      staff    Who resolved it last
--   resolved_by_name  VARCHAR      staff    Name of who resolved it last
WITH answered AS (
  SELECT *, assignee_of(chat_assigned_to, assigned_to_user_id) AS assignee
  FROM scoped('conversations')
  WHERE csat_satisfaction10 IS NOT NULL OR csat_ease10 IS NOT NULL OR csat_submitted_at IS NOT NULL OR trim(csat_comment) <> ''
),
handed_off AS (SELECT DISTINCT workspace_id, agent_id, conversation_id FROM scoped('conversation_handoffs'))
SELECT
  workspace_id, agent_id, conversation_id, d.agent_title, or_unknown(c.channel) AS channel,
  coalesce(local_day(c.csat_submitted_at, w.time_zone), c.day) AS day, c.day AS conversation_day,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  c.csat_submitted_at AS submitted_at, rating(c.csat_satisfaction10) AS csat_score, rating(c.csat_ease10) AS csat_ease,
  coalesce(trim(c.csat_comment) <> '', false) AS has_comment, or_null(c.csat_comment) AS comment,
  or_unknown(c.csat_channel) AS survey_channel, c.csat_survey_version AS survey_version,
  h.conversation_id IS NOT NULL AS was_handed_off,
  c.assignee AS assignee_id, p.name AS assignee_name, c.resolved_by, rp.name AS resolved_by_name
FROM answered c
LEFT JOIN handed_off h USING (workspace_id, agent_id, conversation_id)
LEFT JOIN _workspaces w USING (workspace_id)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
LEFT JOIN marts.dim_people p ON p.workspace_id = c.workspace_id AND p.user_id = c.assignee
LEFT JOIN marts.dim_people rp ON rp.workspace_id = c.workspace_id AND rp.user_id = c.resolved_by
