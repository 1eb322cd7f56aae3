-- Coverage equals the ranges of finished windows, minus the holes of lost pages, second by second.
-- severity: error
-- table: _covered
WITH finished AS (
  SELECT workspace_id, agent_id, coalesce(epoch(from_at)::BIGINT, 0) AS f, epoch(to_at)::BIGINT AS t,
    coalesce(from_json(progress->'$.holes', '[{"from":"BIGINT","to":"BIGINT"}]'), []) AS holes
  FROM _windows WHERE done AND kind NOT IN ('selected', 'refresh', 'sample')),
pieces AS (
  SELECT workspace_id, agent_id,
    unnest(list_concat([f], list_transform(holes, lambda hole: hole."to" + 1))) AS f,
    unnest(list_concat(list_transform(holes, lambda hole: hole."from" - 1), [t])) AS t
  FROM finished),
done AS (FROM pieces WHERE f <= t),
starts AS (
  SELECT *, CASE WHEN f <= max(t) OVER (PARTITION BY workspace_id, agent_id ORDER BY f, t
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + 1 THEN 0 ELSE 1 END AS starts FROM done),
islands AS (SELECT *, sum(starts) OVER (PARTITION BY workspace_id, agent_id ORDER BY f, t) AS island FROM starts),
covered AS (
  SELECT workspace_id, agent_id, min(f) AS from_sec, max(t) AS to_sec FROM islands GROUP BY workspace_id, agent_id, island)
(FROM covered EXCEPT FROM _covered) UNION ALL (FROM _covered EXCEPT FROM covered);
