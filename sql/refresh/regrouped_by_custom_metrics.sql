-- Adds to the touched days those whose figures show a changed metric with an outdated id, key or type.
INSERT INTO touched_workspace_id_agent_id_day
WITH changed AS (
  SELECT workspace_id, agent_id, metric_id, m.metric_key, or_null(m.type) AS type
  FROM changed_custom_metrics LEFT JOIN custom_metrics m USING (workspace_id, agent_id, metric_id)
)
SELECT DISTINCT f.workspace_id, f.agent_id, f.day
FROM marts.custom_metrics_daily f JOIN changed c ON c.workspace_id = f.workspace_id AND c.agent_id = f.agent_id
  AND (f.metric_id IN (c.metric_id, c.metric_key) OR f.metric_key = c.metric_key)
WHERE (f.metric_id, f.metric_key, f.declared_type) IS DISTINCT FROM (c.metric_id, c.metric_key, c.type)
