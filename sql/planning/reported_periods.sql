-- Returns the reports of loaded pages under each period key (src/core/quota/billing-period.ts): at most the newest five keys, the last
-- one being the key that most of the newest 20 pages named. Looks 100 days back, which is longer than any period.
--
-- `used` is the highest count or, of contradicting numbers, the most careful one (src/core/quota/quota.ts). A count that both following
-- pages contradict with lower counts was a mistake. Pages that were requested at the same moment do not contradict each other.
--
-- `certain` is the bill of our own answers (`own`), plus the minimum that others have used: reported usage minus our answers' bill by
-- then.
WITH numbers AS (
  SELECT *, rank() OVER (ORDER BY reported_at DESC) AS age, count(*) OVER (PARTITION BY period_key) AS alike,
    coalesce(included_sessions, max(included_sessions) OVER (PARTITION BY period_key), $included) AS included,
    greatest(overage_sessions, if(overage_packs > 0, (overage_packs - 1) * $pack + 1, 0)) AS overage
  FROM _quota WHERE workspace_id = $workspace AND period_key IS NOT NULL
    AND reported_at >= (SELECT max(reported_at) FROM _quota WHERE workspace_id = $workspace) - INTERVAL 2400 HOUR
),
reports AS (
  SELECT *, least(included_sessions, used_sessions + remaining_sessions) AS said,
    greatest(used_sessions, included - remaining_sessions, if(overage > 0, included + overage, NULL)) AS most
  FROM numbers
),
counted AS (
  SELECT *, if(lead(most, 2) OVER keyed IS NULL, most, least(most, greatest(lead(most) OVER keyed, lead(most, 2) OVER keyed))) AS used
  FROM reports WINDOW keyed AS (PARTITION BY period_key ORDER BY reported_at, most)
),
requests AS (
  SELECT sent_at, billed_sessions FROM _requests
  WHERE workspace_id = $workspace AND sent_at >= (SELECT min(reported_at) FROM reports)
),
-- If several keys were reported at one moment, the one with the most reports gets the bills.
keys AS (
  SELECT reported_at, arg_max(period_key, (alike, period_key)) AS period_key FROM numbers GROUP BY reported_at
),
moments AS (
  SELECT period_key, reported_at AS moment, used, 0 AS billed FROM counted
  UNION ALL
  SELECT t.period_key, r.sent_at, NULL, coalesce(r.billed_sessions, 0)
  FROM requests r ASOF JOIN keys t ON r.sent_at >= t.reported_at
),
bills AS (
  -- A report may include requests that were sent up to two minutes after its own.
  SELECT period_key, used, billed, sum(billed) OVER (
    PARTITION BY period_key ORDER BY moment RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 2 MINUTE FOLLOWING) AS own
  FROM moments
),
certain AS (
  SELECT period_key, sum(billed) AS own, sum(billed) + greatest(0, coalesce(max(used - own), 0)) AS sessions
  FROM bills GROUP BY period_key
),
newest AS (
  SELECT period_key, count(*)::DOUBLE AS reports, coalesce(max(used), 0)::DOUBLE AS "usedSessions",
    arg_max(said, (reported_at, -said))::DOUBLE AS "includedSessions",
    coalesce(max(overage_sessions), 0)::DOUBLE AS "overageSessions", coalesce(max(overage_packs), 0)::DOUBLE AS "overagePacks",
    epoch_ms(min(reported_at))::DOUBLE AS "sinceMs", epoch_ms(max(reported_at))::DOUBLE AS "reportedAtMs",
    count(*) FILTER (age <= 20) AS among_newest
  FROM counted GROUP BY period_key ORDER BY max(counted.reported_at) DESC, period_key LIMIT 5
)
SELECT n.period_key AS key, n.* EXCLUDE (period_key, among_newest), c.own::DOUBLE AS "ownSessions", c.sessions::DOUBLE AS "certainSessions"
FROM newest n JOIN certain c USING (period_key) ORDER BY n.among_newest, n."sinceMs", n.period_key
