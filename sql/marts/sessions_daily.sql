-- sessions_daily: one row for each agent, day and kind of export that returned conversations or billed sessions.
-- Grain: workspace_id, agent_id, day, kind
-- Month: day
-- Refresh: whole
-- Built from: _requests, marts.dim_agents
-- Use: what exports cost, by agent and by the day of the request. `quota_daily` has what the vendor reports for the whole workspace. Answers that
-- failed or did not arrive completely are not in it, although they may have billed: the summary of the sync says how many sessions at most.
-- Example:
-- SELECT agent_title, kind, sum(conversations) AS conversations, sum(billed_sessions) AS billed_sessions FROM marts.sessions_daily
-- GROUP BY agent_title, kind ORDER BY billed_sessions DESC;
-- Columns:
--   workspace_id     VARCHAR  none  Workspace
--   agent_id         VARCHAR  none  Agent
--   day              DATE     none  Day of the request in the workspace's time zone
--   kind             VARCHAR  none  head (new conversations), tail (history), full, reread, selected, refresh or sample
--   agent_title      VARCHAR  none  Title of the agent
--   pages            BIGINT   none  Pages that returned conversations or billed sessions
--   conversations    BIGINT   none  Conversations that they returned
--   billed_sessions  BIGINT   none  Sessions that they billed
WITH quarters AS (
  -- Time zones are applied to quarters of an hour, at which the days of every zone begin, not to each page.
  SELECT workspace_id, agent_id, kind, epoch_us(sent_at) // 900000000 AS quarter, count(*) AS pages, sum(returned) AS returned, sum(billed_sessions) AS billed
  FROM _requests WHERE kind IS NOT NULL AND (returned > 0 OR billed_sessions > 0) GROUP BY ALL
)
SELECT
  workspace_id, agent_id, local_day(make_timestamptz(quarter * 900000000), w.time_zone) AS day, kind, any_value(d.agent_title) AS agent_title,
  sum(pages)::BIGINT AS pages, coalesce(total(returned), 0) AS conversations, coalesce(total(billed), 0) AS billed_sessions
FROM quarters LEFT JOIN _workspaces w USING (workspace_id) LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
GROUP BY ALL
