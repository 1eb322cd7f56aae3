-- backlog_daily: one row for each agent, channel and local day at whose end conversations were open or waited for a person.
-- Grain: workspace_id, agent_id, channel, day
-- Month: day
-- Refresh: whole
-- Built from: marts.fct_conversations, marts.fct_handoffs, marts.coverage_daily, marts.dim_agents
-- Use: levels at the end of each day, so never add them up over days: a week has that of its last day. A conversation is open from its start, or its reopening, until it
-- is resolved or has ended. The vendor does not say when one ended: it counts as ended from its last message on. It waits for a person from the request of a handoff until somebody
-- accepts, the handoff ends or the conversation does. The last day is that of the newest export or event, and may not be over. Days without a row have no backlog.
-- Example:
-- SELECT day, sum(open) AS open, sum(waiting) AS waiting, sum(older_than_7_days) AS older_than_7_days
-- FROM marts.backlog_daily GROUP BY day ORDER BY day;
-- Columns:
--   workspace_id       VARCHAR  none  Workspace
--   agent_id           VARCHAR  none  Agent
--   channel            VARCHAR  none  Channel; `unknown` if none was reported
--   day                DATE     none  Day in the workspace's time zone
--   agent_title        VARCHAR  none  Title of the agent
--   open               BIGINT   none  Conversations that were open at the end of the day
--   waiting            BIGINT   none  Handoffs that waited for a person at the end of the day
--   older_than_1_day   BIGINT   none  Open conversations that had begun more than a day before
--   older_than_3_days  BIGINT   none  Open conversations that had begun more than three days before
--   older_than_7_days  BIGINT   none  Open conversations that had begun more than seven days before
WITH exported AS (SELECT workspace_id, max(day) AS last_day FROM marts.coverage_daily GROUP BY ALL),
seen AS (
  SELECT workspace_id, any_value(time_zone) AS zone,
    greatest(local_day(max(greatest(as_of, last_observed_at)), any_value(time_zone)), any_value(last_day)) AS seen_day
  FROM marts.fct_conversations LEFT JOIN _workspaces USING (workspace_id) LEFT JOIN exported USING (workspace_id) GROUP BY workspace_id
),
-- A conversation that was reopened was open twice. `until_at`: NULL if it still is.
spans AS (
  SELECT workspace_id, agent_id, channel, started_at AS begin_at,
    CASE WHEN reopened_at > first_resolved_at AND first_resolved_at >= started_at THEN first_resolved_at ELSE closed_at END AS until_at
  FROM marts.fct_conversations WHERE is_counted
  UNION ALL
  SELECT workspace_id, agent_id, channel, reopened_at, closed_at
  FROM marts.fct_conversations WHERE is_counted AND reopened_at > first_resolved_at AND first_resolved_at >= started_at
),
days AS (
  SELECT workspace_id, agent_id, channel, local_day(begin_at, zone) AS begin_day, local_day(until_at, zone) AS until_day
  FROM spans JOIN seen USING (workspace_id)
),
waits AS (
  SELECT h.workspace_id, h.agent_id, h.channel, local_day(h.requested_at, zone) AS begin_day,
    local_day(least(coalesce(h.accepted_at, h.completed_at), c.closed_at), zone) AS until_day
  FROM marts.fct_handoffs h JOIN seen USING (workspace_id)
  JOIN marts.fct_conversations c ON c.workspace_id = h.workspace_id AND c.agent_id = h.agent_id AND c.conversation_id = h.conversation_id
  WHERE h.is_counted AND h.requested_at IS NOT NULL
),
-- Each span adds one on its first day and takes it away on its last, if that is a later one.
changes AS (
  SELECT workspace_id, agent_id, channel, level, unnest([{day: begin_day, step: 1}, {day: until_day, step: -1}], recursive := true) FROM (
    SELECT workspace_id, agent_id, channel, unnest(['open', 'older_than_1_day', 'older_than_3_days', 'older_than_7_days']) AS level,
      begin_day + unnest([0, 1, 3, 7]) AS begin_day, until_day FROM days
    UNION ALL SELECT workspace_id, agent_id, channel, 'waiting', begin_day, until_day FROM waits
  ) WHERE until_day IS NULL OR until_day > begin_day
),
by_day AS (
  SELECT workspace_id, agent_id, channel, day,
    sum(step) FILTER (level = 'open') AS open, sum(step) FILTER (level = 'waiting') AS waiting, sum(step) FILTER (level = 'older_than_1_day') AS older_1,
    sum(step) FILTER (level = 'older_than_3_days') AS older_3, sum(step) FILTER (level = 'older_than_7_days') AS older_7
  FROM changes JOIN seen USING (workspace_id) WHERE day <= seen_day GROUP BY ALL
),
levels AS (
  SELECT workspace_id, agent_id, channel, day, lead(day) OVER w AS next_day,
    coalesce(sum(open) OVER w, 0)::BIGINT AS open, coalesce(sum(waiting) OVER w, 0)::BIGINT AS waiting, coalesce(sum(older_1) OVER w, 0)::BIGINT AS older_than_1_day,
    coalesce(sum(older_3) OVER w, 0)::BIGINT AS older_than_3_days, coalesce(sum(older_7) OVER w, 0)::BIGINT AS older_than_7_days
  FROM by_day WINDOW w AS (PARTITION BY workspace_id, agent_id, channel ORDER BY day)
)
SELECT workspace_id, agent_id, channel, unnest(generate_series(greatest(day, seen_day - 3652), coalesce(next_day - 1, seen_day), INTERVAL 1 DAY))::DATE AS day,
  a.agent_title, l.open, l.waiting, l.older_than_1_day, l.older_than_3_days, l.older_than_7_days
FROM levels l JOIN seen USING (workspace_id) LEFT JOIN marts.dim_agents a USING (workspace_id, agent_id)
WHERE l.open > 0 OR l.waiting > 0
