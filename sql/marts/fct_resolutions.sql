-- fct_resolutions: one row for each conversation that has ever been resolved, by its last known resolution.
-- Grain: workspace_id, agent_id, conversation_id
-- Month: day
-- Refresh: conversations
-- Built from: marts.fct_conversations
-- Joins: resolved_by = dim_people.user_id
-- Shared: resolved_by_name
-- Use: resolutions by the day, hour and person of the resolution; fct_conversations and conversations_daily have them by the day on which the conversation
-- began. A conversation that was reopened keeps its last resolution: `is_resolved` says whether that still holds. Conversations that were
-- resolved at an unknown time are not in it.
-- Example:
-- SELECT day, count(*) AS resolutions, count(*) FILTER (NOT is_resolved) AS reopened_since, median(seconds_to_resolution) / 3600 AS median_hours
-- FROM marts.fct_resolutions WHERE is_counted GROUP BY day ORDER BY day;
-- Columns:
--   workspace_id           VARCHAR      none   Workspace
--   agent_id               VARCHAR      none   Agent
--   conversation_id        VARCHAR      none   Conversation
--   agent_title            VARCHAR      none   Title of the agent
--   channel                VARCHAR      none   Channel of the conversation; `unknown` if none was reported
--   day                    DATE         none   Day of the resolution in the workspace's time zone
--   local_hour             BIGINT       none   Its hour there, 0 to 23
--   weekday                BIGINT       none   Day of the week of `day`, 1 (Monday) to 7 (Sunday)
--   conversation_day       DATE         none   Day on which the conversation began
--   is_counted             BOOLEAN      none   The conversation counts in aggregates
--   resolved_at            TIMESTAMPTZ  none   Latest known resolution
--   seconds_to_resolution  DOUBLE       none   From the start of the conversation; NULL if the resolution is before it
--   is_resolved            BOOLEAN      none   It is resolved now
--   was_reopened           BOOLEAN      none   It has ever been reopened
--   resolved_by            VARCHAR      staff  Who resolved it last
--   resolved_by_name       VARCHAR      staff  Name of who resolved it last
SELECT
  workspace_id, agent_id, conversation_id, c.agent_title, c.channel, local_day(c.last_resolved_at, w.time_zone) AS day,
  local_hour(c.last_resolved_at, w.time_zone) AS local_hour, isodow(local_day(c.last_resolved_at, w.time_zone)) AS weekday,
  c.day AS conversation_day, c.is_counted, c.last_resolved_at AS resolved_at, c.seconds_to_last_resolution AS seconds_to_resolution,
  c.is_resolved, c.was_reopened, c.resolved_by, c.resolved_by_name
FROM scoped('marts.fct_conversations') c LEFT JOIN _workspaces w USING (workspace_id)
WHERE c.last_resolved_at IS NOT NULL
