-- Returns each agent of a workspace that a listing or a conversation names: its conversations and its unfinished windows.
WITH
listed AS (
  SELECT agent_id, any_value(title) AS title, max(_missing_since) AS missing
  FROM agents WHERE workspace_id = $workspace_id GROUP BY ALL),
held AS (
  SELECT agent_id, count(*) AS n, max(ts) AS newest, min(ts) AS oldest
  FROM conversations WHERE workspace_id = $workspace_id GROUP BY ALL),
open AS (
  SELECT agent_id, count(*) AS n FROM _windows
  WHERE workspace_id = $workspace_id AND NOT done
  -- Windows of a dropped full export are not continued.
  AND NOT (kind = 'full' AND opened_at <= coalesce(
    (SELECT max(planned_until) FROM _full_exports_dropped WHERE workspace_id = $workspace_id), TIMESTAMPTZ 'epoch'))
  GROUP BY ALL)
SELECT agent_id AS "agentId", title, missing AS "missingSince", coalesce(held.n, 0) AS conversations,
  newest AS "newestAt", oldest AS "oldestAt", coalesce(open.n, 0) AS "openWindows"
FROM listed FULL JOIN held USING (agent_id) LEFT JOIN open USING (agent_id)
ORDER BY conversations DESC, agent_id
