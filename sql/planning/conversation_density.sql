-- Returns by agent: conversations per day of `ts` from $since to $now, sessions billed per returned conversation, and
-- the maximum sessions of one (as in `sessionsShown`, a larger number counts something else). The estimates of a plan
-- derive from these. The oldest conversation only bounds the time of the mean: a single conversation is no rate.
WITH daily AS (
  SELECT agent_id, (ts AT TIME ZONE 'UTC')::DATE AS day, count(*) AS n, count(*) FILTER (epoch_us(ts) >= epoch_us($now::TIMESTAMPTZ) - 7 * 86400000000) AS week, min(ts) AS first,
    max(sessions_num) FILTER (sessions_num BETWEEN 1 AND 1000) AS most
  FROM conversations
  WHERE workspace_id = $workspace AND ts >= $since::TIMESTAMPTZ AND ts <= $now::TIMESTAMPTZ GROUP BY ALL
),
billed AS (
  SELECT agent_id, sum(billed) / nullif(sum(returned), 0) AS sessions FROM _windows WHERE workspace_id = $workspace GROUP BY agent_id
)
SELECT daily.agent_id AS "agentId",
  -- A day without conversations has no row, so a single day does not show the minimum.
  {low: if(count(*) < 2, 0, min(n))::DOUBLE, high: max(n)::DOUBLE} AS "perDay",
  -- If the last week was busier, the coming days may be as well.
  greatest((sum(n) - 1) / greatest(1, (epoch($now::TIMESTAMPTZ) - epoch(min(first))) / 86400), sum(week) / 7)::DOUBLE AS "newPerDay",
  greatest(1, any_value(sessions))::DOUBLE AS "sessionsPerConversation",
  greatest(1, max(most), ceil(any_value(sessions)))::DOUBLE AS "mostSessions"
FROM daily LEFT JOIN billed USING (agent_id) GROUP BY daily.agent_id
