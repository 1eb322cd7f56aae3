-- By agent: conversations per day of `ts` from $since to $now, sessions billed per returned conversation, and the most sessions of one (as in
-- `sessionsShown`, a larger number counts something else). The estimates of a plan derive from these. The oldest conversation only bounds
-- the time of the mean: a single conversation is no rate.
WITH daily AS (
  SELECT agent_id, ts::DATE AS day, count(*) AS n, count(*) FILTER (ts >= $now::TIMESTAMP - INTERVAL 7 DAY) AS week, min(ts) AS first,
    max(sessions_num) FILTER (sessions_num BETWEEN 1 AND 1000) AS most
  FROM conversations
  WHERE workspace_id = $workspace AND ts >= $since::TIMESTAMP AND ts <= $now::TIMESTAMP GROUP BY ALL
),
billed AS (
  SELECT agent_id, sum(billed) / nullif(sum(returned), 0) AS sessions FROM _windows WHERE workspace_id = $workspace GROUP BY agent_id
)
SELECT daily.agent_id AS "agentId", count(*)::VARCHAR AS days, min(n)::VARCHAR AS low, max(n)::VARCHAR AS high,
  ((sum(n) - 1) / greatest(1, epoch($now::TIMESTAMP - min(first)) / 86400))::VARCHAR AS mean, (sum(week) / 7)::VARCHAR AS week,
  coalesce(any_value(sessions), 1)::VARCHAR AS sessions, coalesce(max(most), 1)::VARCHAR AS most
FROM daily LEFT JOIN billed USING (agent_id) GROUP BY daily.agent_id
