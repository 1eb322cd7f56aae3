-- Returns for each workspace that was ever synced: when its first sync began, when the last one succeeded, the usual time between recurring
-- syncs, and when the newest conversation (without those from after they were
-- read) and the last event came. Times are ms since the epoch.
WITH
rounds AS (
  SELECT workspace_id, started_at, started_at - lag(started_at) OVER (PARTITION BY workspace_id ORDER BY started_at) AS every
  FROM _runs WHERE origin IN ('watch', 'schedule')
  QUALIFY row_number() OVER (PARTITION BY workspace_id ORDER BY started_at DESC) <= 5)
SELECT workspace_id AS "workspaceId", epoch_ms(min(started_at))::DOUBLE AS "firstMs", epoch_ms(max(ended_at) FILTER (success))::DOUBLE AS "successMs",
  (SELECT epoch_ms(median(every)) FROM rounds WHERE rounds.workspace_id = _runs.workspace_id)::DOUBLE AS "usualMs",
  (SELECT epoch_ms(max(ts) FILTER (ts <= _as_of)) FROM conversations c WHERE c.workspace_id = _runs.workspace_id)::DOUBLE AS "newestMs",
  (SELECT epoch_ms(max(received_at)) FROM webhook_events e WHERE e.workspace_id = _runs.workspace_id)::DOUBLE AS "eventMs"
FROM _runs WHERE outcome IS DISTINCT FROM 'declined' AND coalesce(NOT (origin = 'sync' AND outcome = 'failed' AND error_code = 'AGENT_UNKNOWN'), true) GROUP BY workspace_id
