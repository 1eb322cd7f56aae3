-- Seconds of `ts` covered by finished windows, by agent: disjoint closed intervals. It follows from `_windows`, and is kept beside it
-- because a workspace that is polled has a million windows a year and a handful of intervals.
CREATE TABLE _covered (
  workspace_id VARCHAR NOT NULL,
  agent_id VARCHAR NOT NULL,
  from_sec BIGINT NOT NULL,
  to_sec BIGINT NOT NULL
);

INSERT INTO _covered
WITH done AS (
  SELECT workspace_id, agent_id, coalesce(epoch(from_at)::BIGINT, 0) AS f, epoch(to_at)::BIGINT AS t FROM _windows
  WHERE done AND kind NOT IN ('selected', 'refresh', 'sample')),
starts AS (
  SELECT *, CASE WHEN f <= max(t) OVER (PARTITION BY workspace_id, agent_id ORDER BY f, t
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + 1 THEN 0 ELSE 1 END AS starts FROM done),
islands AS (SELECT *, sum(starts) OVER (PARTITION BY workspace_id, agent_id ORDER BY f, t) AS island FROM starts)
SELECT workspace_id, agent_id, min(f), max(t) FROM islands GROUP BY workspace_id, agent_id, island;
