-- Returns the bill of exporting the stored conversations again, by agent and day of `ts` (UTC): their number, their
-- sessions, and the agent's mean of sessions billed per returned conversation.
WITH rates AS (
  SELECT agent_id, sum(billed) / nullif(sum(returned), 0) AS rate FROM _windows WHERE workspace_id = $workspace GROUP BY agent_id
)
SELECT c.agent_id AS "agentId",
  if((c.ts AT TIME ZONE 'UTC')::DATE IS NOT NULL, {"from": floor(epoch(min(c.ts)))::DOUBLE, "to": floor(epoch(max(c.ts)))::DOUBLE}, NULL) AS range,
  count(*)::DOUBLE AS conversations, count(*) * coalesce(any_value(rates.rate), 1)::DOUBLE AS billed,
  sum(greatest(1, coalesce(c.sessions_num, 1)))::DOUBLE AS sessions
FROM conversations c LEFT JOIN rates ON rates.agent_id = c.agent_id
WHERE c.workspace_id = $workspace GROUP BY c.agent_id, (c.ts AT TIME ZONE 'UTC')::DATE ORDER BY c.agent_id, (c.ts AT TIME ZONE 'UTC')::DATE
