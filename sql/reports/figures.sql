-- Returns the metrics of each workspace: one row per figure, times in seconds since the epoch. Reads small tables, and
-- of webhook_events only the workspace_id, which compresses well.
WITH
-- Time up to which each existing agent has been read; for an agent that was never read, when its record was loaded.
heads AS (
  SELECT a.workspace_id, a.agent_id, coalesce(least(max(c.to_sec), epoch(now())), epoch(max(a._loaded_at))) AS head
  FROM agents a LEFT JOIN _covered c ON c.workspace_id = a.workspace_id AND c.agent_id = a.agent_id
  WHERE a._missing_since IS NULL GROUP BY a.workspace_id, a.agent_id)
SELECT workspace_id AS "workspaceId", 'head' AS figure, '' AS label, min(head)::DOUBLE AS value FROM heads GROUP BY workspace_id
UNION ALL
SELECT workspace_id, 'lastSuccess', '', epoch(max(ended_at))::DOUBLE FROM _runs
WHERE success GROUP BY workspace_id
UNION ALL
SELECT workspace_id, 'runs', outcome, count(*)::DOUBLE FROM _runs WHERE outcome IS NOT NULL GROUP BY workspace_id, outcome
UNION ALL
SELECT workspace_id, 'runErrors', error_code, count(*)::DOUBLE FROM _runs
WHERE outcome IS NOT NULL AND error_code IS NOT NULL GROUP BY workspace_id, error_code
UNION ALL
SELECT workspace_id, 'quarantined', '', count(*)::DOUBLE FROM _quarantine GROUP BY workspace_id
UNION ALL
SELECT workspace_id, 'issues', '', sum(occurrences)::DOUBLE FROM _issues WHERE issue <> 'secret removed' GROUP BY workspace_id
UNION ALL
SELECT workspace_id, 'eventsApplied', '', count(*)::DOUBLE FROM webhook_events GROUP BY workspace_id
