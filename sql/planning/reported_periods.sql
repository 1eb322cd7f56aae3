-- What landed answers have reported of each proved billing period (src/core/quota/quota.ts), oldest first; if none is proved, of the first
-- reported one, marked as unproved. Looks 100 days back, which is longer than any period.
--
-- Two consecutive answers with a new key prove its period, if the second was requested after the first had arrived. They prove nothing
-- if they report no less usage than before: such answers may be about a period that is over.
--
-- `certain` is what our own answers billed, plus the least that others have used: reported usage minus what our answers had billed by then.
WITH reports AS (
  FROM _quota WHERE workspace_id = $workspace AND period_key IS NOT NULL
    AND reported_at >= (SELECT max(reported_at) FROM _quota WHERE workspace_id = $workspace) - INTERVAL 100 DAY
),
requests AS (
  SELECT sent_at, duration_ms, billed_sessions FROM _requests
  WHERE workspace_id = $workspace AND sent_at >= (SELECT min(reported_at) FROM reports)
),
answers AS (
  SELECT t.*, t.reported_at + to_milliseconds(coalesce(r.duration_ms, 0)) AS came_at,
    coalesce(lag(t.period_key) OVER moments <> t.period_key, true) AS changes,
    -- The highest usage of the last 50 answers: a period that has just begun reports less.
    max(t.used_sessions) OVER (moments ROWS BETWEEN 50 PRECEDING AND 1 PRECEDING) AS used_before
  FROM reports t ASOF LEFT JOIN requests r ON t.reported_at >= r.sent_at WINDOW moments AS (ORDER BY t.reported_at)
),
islands AS (
  SELECT *, sum(changes::INTEGER) OVER (ORDER BY reported_at ROWS UNBOUNDED PRECEDING) AS island FROM answers
),
proofs AS (
  SELECT period_key, island, min(reported_at) AS since FROM islands GROUP BY period_key, island
  HAVING count(*) > 1 AND max(reported_at) >= arg_min(came_at, reported_at)
    AND coalesce(min(used_sessions) < first(used_before ORDER BY reported_at), true)
),
proved AS (
  SELECT period_key, min(since) AS since, false AS unproved FROM proofs GROUP BY period_key
  UNION ALL
  (SELECT period_key, reported_at, true FROM reports WHERE NOT EXISTS (FROM proofs) ORDER BY reported_at LIMIT 1)
),
counts AS (
  SELECT period_key, reported_at AS moment, used_sessions AS used, 0 AS billed FROM reports
  UNION ALL
  SELECT t.period_key, r.sent_at, NULL, coalesce(r.billed_sessions, 0)
  FROM requests r ASOF JOIN reports t ON r.sent_at >= t.reported_at
),
own AS (
  -- A report may include requests that were sent up to two minutes after its own.
  SELECT period_key, used, billed, sum(billed) OVER (
    PARTITION BY period_key ORDER BY moment RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 2 MINUTE FOLLOWING) AS own
  FROM counts
),
certain AS (
  SELECT period_key, sum(billed) + greatest(0, coalesce(max(used - own), 0)) AS sessions FROM own GROUP BY period_key
)
SELECT period_key, coalesce(max(t.used_sessions), 0)::VARCHAR AS used, any_value(c.sessions)::VARCHAR AS certain,
  arg_max(t.included_sessions, t.reported_at)::VARCHAR AS included, coalesce(max(t.overage_sessions), 0)::VARCHAR AS overage,
  coalesce(max(t.overage_packs), 0)::VARCHAR AS packs, epoch_ms(any_value(p.since))::VARCHAR AS since,
  any_value(p.unproved)::VARCHAR AS unproved, epoch_ms(max(t.reported_at))::VARCHAR AS reported_at
FROM reports t JOIN proved p USING (period_key) JOIN certain c USING (period_key)
GROUP BY period_key ORDER BY min(p.since)
