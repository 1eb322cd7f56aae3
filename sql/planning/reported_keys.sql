-- What landed answers have reported under each period key (src/core/quota/period-keys.ts), oldest first. Looks 200 days back,
-- over the last six monthly periods. Leaves out a key that only one answer reported: that may have been a mistake.
--
-- `carried` and `behind` derive from the first $first_reports reports under a key. A report should include the sessions of all requests
-- that were answered before the reporting request was sent, and may include those of requests sent before its answer arrived.
WITH reports AS (
  SELECT period_key, reported_at, coalesce(used_sessions, included_sessions - remaining_sessions) AS used,
    min(reported_at) OVER keyed AS since, rank() OVER (keyed ORDER BY reported_at) AS number
  FROM _quota WHERE workspace_id = $workspace AND period_key IS NOT NULL
    AND reported_at >= (SELECT max(reported_at) FROM _quota WHERE workspace_id = $workspace) - INTERVAL 4800 HOUR
  WINDOW keyed AS (PARTITION BY period_key)
),
keys AS (
  SELECT period_key, min(reported_at) AS since, max(reported_at) AS until, max(used) AS most
  FROM reports GROUP BY period_key HAVING count(*) > 1
),
requests AS (
  SELECT sent_at, sent_at + to_milliseconds(coalesce(duration_ms, 0)) AS came_at, coalesce(billed_sessions, 0) AS billed
  FROM _requests WHERE workspace_id = $workspace AND sent_at >= (SELECT min(reported_at) FROM reports)
),
-- A report does not name its request: of those that were sent at its moment, it may be the longest and the cheapest one.
sent AS (
  SELECT sent_at, max(came_at) AS came_at, min(billed) AS alone, sum(sum(billed)) OVER (ORDER BY sent_at) AS billed
  FROM requests GROUP BY sent_at
),
came AS (SELECT came_at, sum(billed) OVER (ORDER BY came_at) AS billed FROM requests),
first AS (
  SELECT t.*, coalesce(own.came_at, t.reported_at) AS came_at, coalesce(own.alone, 0) AS alone
  FROM reports t ASOF LEFT JOIN sent own ON t.reported_at >= own.sent_at
  WHERE t.number <= $first_reports AND t.used IS NOT NULL
),
-- Sessions that others had used at each report: the least and the most that are possible.
bounds AS (
  SELECT f.period_key, f.reported_at, f.used - (coalesce(begun.billed, 0) - coalesce(earlier.billed, 0)) AS least,
    f.used - (coalesce(ended.billed, 0) - coalesce(earlier.billed, 0)) - if(f.came_at > f.reported_at, f.alone, 0) AS most
  FROM first f ASOF LEFT JOIN sent begun ON f.came_at >= begun.sent_at
    ASOF LEFT JOIN came ended ON f.reported_at >= ended.came_at
    ASOF LEFT JOIN sent earlier ON f.since > earlier.sent_at
),
carried AS (
  SELECT *, max(least) OVER (PARTITION BY period_key ORDER BY reported_at) - most AS lacks FROM bounds
)
SELECT k.period_key AS key, epoch_ms(k.since)::DOUBLE AS "sinceMs", epoch_ms(k.until)::DOUBLE AS "untilMs", k.most::DOUBLE AS "mostUsed",
  max(c.most)::DOUBLE AS carried, coalesce(median(greatest(0, c.lacks)), 0)::DOUBLE AS behind
FROM keys k LEFT JOIN carried c USING (period_key) GROUP BY k.period_key, k.since, k.until, k.most ORDER BY k.since, k.period_key
