-- Returns agents that a listing or an event has named and no later event has deleted: whether the newest listing
-- contains them, and when their exports answered 404 since they last answered otherwise.
WITH listing AS (
  SELECT min(sent_at) AS begun FROM _requests WHERE workspace_id = $workspace AND stream = 'agents' AND window_name = (
    SELECT max(window_name) FROM _requests WHERE workspace_id = $workspace AND stream = 'agents' AND contains(window_name, $listing))
),
refusals AS (
  SELECT id AS agent_id, before_at AS refused_at FROM _absences
  WHERE workspace_id = $workspace AND record = 'agents' AND id IS NOT NULL
),
answers AS (
  SELECT agent_id, max(sent_at) AS answered_at FROM _requests
  WHERE workspace_id = $workspace AND kind IS NOT NULL AND agent_id IN (SELECT agent_id FROM refusals) GROUP BY ALL
),
refused AS (
  SELECT agent_id, list(epoch_ms(refused_at)::DOUBLE) AS refused FROM refusals LEFT JOIN answers USING (agent_id)
  WHERE coalesce(refused_at > answered_at, true) GROUP BY ALL
)
SELECT agent_id AS "agentId", title, coalesce(_complete AND _fetched_at >= begun, false) AS "isListed",
  coalesce(refused, []) AS "refusedMs"
FROM (FROM agents WHERE workspace_id = $workspace AND _deleted_at IS NULL) CROSS JOIN listing LEFT JOIN refused USING (agent_id)
ORDER BY agent_id
