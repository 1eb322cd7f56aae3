-- coverage_daily: one row for each agent and day from the workspace's first day to that of its newest export: whether the day was read completely.
-- Grain: workspace_id, agent_id, day
-- Month: day
-- Refresh: whole
-- Built from: _covered, _requests, _quarantine, conversations, marts.dim_agents, marts.dim_calendar
-- Use: figures of a day are complete only where `is_covered`. A day is read if finished windows cover each of its seconds that an answer was asked for after they
-- had passed; unread ranges and lost pages are not covered, whatever answers say. Where `ts` follows a conversation's activity, all time after the day
-- must be read too; where it lies at most 24 hours after the first message, as much as in any stored conversation. A day that was
-- read is not covered while a conversation of it is known from events alone and may be exported, or a record of it could not be loaded. Conversations that the vendor skips (no person has written in them) are in no export, and do not count.
-- Example:
-- SELECT agent_title, min(day) AS first_day, count(*) AS days, count(*) FILTER (is_covered) AS covered_days, max(day) FILTER (is_covered) AS last_covered_day
-- FROM marts.coverage_daily GROUP BY agent_title ORDER BY agent_title;
-- Columns:
--   workspace_id    VARCHAR  none  Workspace
--   agent_id        VARCHAR  none  Agent
--   day             DATE     none  Day in the workspace's time zone
--   agent_title     VARCHAR  none  Title of the agent
--   is_covered      BOOLEAN  none  All of the day was read, and every conversation of it that is known was loaded
--   is_read         BOOLEAN  none  All of the day was read
--   is_partly_read  BOOLEAN  none  A part of the day was read
--   incomplete      BIGINT   none  Conversations of the day that only events have mentioned, and that may be exported
--   quarantined     BIGINT   none  Records of pages that reach into the day that could not be loaded
--   stale           BIGINT   none  Conversations of the day that are known to have changed since they were exported
WITH asked AS (
  SELECT workspace_id, agent_id, min(sent_at) AS first_at, max(sent_at) AS last_at FROM _requests WHERE kind IS NOT NULL GROUP BY ALL
),
spans AS (
  SELECT workspace_id, any_value(w.time_zone) AS time_zone, local_day(min(first_at), any_value(w.time_zone)) AS first_asked, local_day(max(last_at), any_value(w.time_zone)) AS last_day
  FROM asked LEFT JOIN _workspaces w USING (workspace_id) GROUP BY workspace_id
),
days AS (
  SELECT workspace_id, day::DATE AS day, epoch(day AT TIME ZONE coalesce(time_zone, 'UTC'))::BIGINT AS begins,
    epoch((day + INTERVAL 1 DAY) AT TIME ZONE coalesce(time_zone, 'UTC'))::BIGINT - 1 AS ends
  FROM (SELECT s.*, unnest(generate_series(least(f.first_day, s.first_asked)::TIMESTAMP, s.last_day::TIMESTAMP, INTERVAL 1 DAY)) AS day
    FROM spans s LEFT JOIN (SELECT workspace_id, min(day) AS first_day FROM marts.dim_calendar GROUP BY ALL) f USING (workspace_id))
),
-- Nothing was read that had not passed when the newest request was sent.
covered AS (
  SELECT c.workspace_id, c.agent_id, c.from_sec, least(c.to_sec, epoch_us(a.last_at) // 1000000) AS to_sec,
    max(c.to_sec) OVER (PARTITION BY c.workspace_id, c.agent_id) = c.to_sec AS is_newest
  FROM _covered c JOIN asked a USING (workspace_id, agent_id) WHERE c.from_sec <= epoch(a.last_at)
),
held AS (
  SELECT workspace_id, agent_id, coalesce(day, local_day(_as_of, w.time_zone)) AS day, count(*) FILTER (NOT coalesce(_complete, false)) AS incomplete,
    count(*) FILTER (_complete) AS stale
  FROM conversations LEFT JOIN _workspaces w USING (workspace_id)
  WHERE (NOT coalesce(_complete, false) OR _dirty_since IS NOT NULL)
    AND NOT coalesce(_missing_since >= coalesce(_dirty_since, _missing_since), false)
    AND NOT coalesce(_not_exportable_since >= coalesce(_dirty_since, _not_exportable_since), false)
  GROUP BY ALL
),
-- How long after the first message `ts` may lie.
lags AS (
  SELECT workspace_id, agent_id, greatest(coalesce(max(epoch_us(ts) - epoch_us(first_message_ts)), 0), 0) / 1e6 AS lag_sec
  FROM conversations WHERE _complete GROUP BY ALL
),
unloaded AS (
  SELECT r.workspace_id, r.agent_id, CASE WHEN coalesce(l.lag_sec, 0) <= 86400 THEN epoch(r.from_at) - coalesce(l.lag_sec, 0) END AS from_sec, epoch(r.to_at) AS to_sec, count(*) AS records
  FROM _quarantine q JOIN _requests r ON r.workspace_id = q.workspace_id AND r.file = q.file
  LEFT JOIN lags l ON l.workspace_id = r.workspace_id AND l.agent_id = r.agent_id
  WHERE q.record = 'conversation' AND r.to_at IS NOT NULL GROUP BY ALL
),
quarantined AS (
  SELECT d.workspace_id, u.agent_id, d.day, sum(u.records)::BIGINT AS records
  FROM days d JOIN unloaded u ON u.workspace_id = d.workspace_id AND coalesce(u.from_sec <= d.ends, true) AND u.to_sec >= d.begins GROUP BY ALL
),
reading AS (
  SELECT d.workspace_id, a.agent_id, d.day, any_value(a.agent_title) AS agent_title, count(c.agent_id) > 0 AS is_partly_read,
    coalesce(bool_or(c.from_sec <= d.begins AND c.to_sec >= d.ends
      AND CASE WHEN l.lag_sec > 86400 THEN c.is_newest ELSE c.to_sec >= d.ends + coalesce(l.lag_sec, 0) END), false) AS is_read
  FROM days d
  JOIN marts.dim_agents a USING (workspace_id)
  LEFT JOIN lags l USING (workspace_id, agent_id)
  LEFT JOIN covered c ON c.workspace_id = d.workspace_id AND c.agent_id = a.agent_id AND c.from_sec <= d.ends AND c.to_sec >= d.begins
  GROUP BY d.workspace_id, a.agent_id, d.day
)
SELECT
  workspace_id, agent_id, day, r.agent_title, r.is_read AND coalesce(h.incomplete, 0) = 0 AND coalesce(q.records, 0) = 0 AS is_covered, r.is_read, r.is_partly_read,
  coalesce(h.incomplete, 0) AS incomplete, coalesce(q.records, 0) AS quarantined, coalesce(h.stale, 0) AS stale
FROM reading r LEFT JOIN held h USING (workspace_id, agent_id, day) LEFT JOIN quarantined q USING (workspace_id, agent_id, day)
