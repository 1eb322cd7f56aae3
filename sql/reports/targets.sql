-- Returns the state of each target that the warehouse knows: what it lacks, since when, and how its publications ended.
-- A publication that was stopped has neither succeeded nor failed.
WITH
ended AS (SELECT * FROM _publications WHERE ended_at IS NOT NULL),
succeeded AS (SELECT target, arg_max(id, ended_at) AS id, max(ended_at) AS at FROM ended WHERE error IS NULL GROUP BY target),
failed AS (
  SELECT target, count(*) AS attempts, min(ended_at) AS since, arg_max(ended.id, ended_at) AS id
  FROM ended LEFT JOIN succeeded USING (target) LEFT JOIN _consumers ON name = 'target/' || target
  WHERE error IS NOT NULL AND (succeeded.at IS NULL OR ended_at > succeeded.at)
    -- A publication that finds nothing to do has no row, but acknowledges. A difference ends only when the target is written again.
    AND (acknowledged_at IS NULL OR ended_at > acknowledged_at OR error_code = 'PUBLICATION_DIFFERS') GROUP BY target),
-- Targets whose copy can be updated from the log, since it was written in the current epoch.
filled AS (SELECT DISTINCT target FROM ended JOIN _change_log USING (epoch) WHERE error IS NULL),
pending AS (
  SELECT name, count(seq_changed) AS changes, min(logged_at) AS since
  FROM (SELECT c.name, l.seq AS seq_changed, l.logged_at FROM _consumers c LEFT JOIN _changes l ON l.seq > c.seq
    WHERE starts_with(c.name, 'target/')) GROUP BY name)
SELECT target,
  good.started_at AS "asOf", good.ended_at AS "succeededAt", good.kind, good.row_count AS rows, epoch_ms(good.ended_at) - epoch_ms(good.started_at) AS "durationMs",
  CASE WHEN filled.target IS NOT NULL THEN pending.changes END AS behind,
  -- For a copy that must be written from empty: all changes since its rows were read.
  CASE WHEN filled.target IS NOT NULL THEN pending.since ELSE coalesce(good.started_at, c.registered_at) END AS "lackingSince",
  good.hint AS unfit,
  failed.attempts, failed.since AS "failingSince", bad.started_at AS "failedAt", bad.error_code AS code, bad.error AS what, bad.hint
FROM (SELECT substr(name, length('target/') + 1) AS target FROM _consumers WHERE starts_with(name, 'target/') UNION SELECT target FROM _publications) t
LEFT JOIN _consumers c ON c.name = 'target/' || t.target
LEFT JOIN pending ON pending.name = c.name
LEFT JOIN filled USING (target)
LEFT JOIN succeeded USING (target) LEFT JOIN _publications good ON good.id = succeeded.id
LEFT JOIN failed USING (target) LEFT JOIN _publications bad ON bad.id = failed.id
ORDER BY target
