-- quota_daily: one row for each billing period and day on which an answer reported the workspace's quota.
-- Grain: workspace_id, period_key, day
-- Month: day
-- Refresh: whole
-- Built from: _quota
-- Use: how much of the quota is used, as the vendor reports it, by all programs together. A count that the two following quarters of an hour contradict with lower
-- ones was a mistake, as the planner takes it: usage within a period only grows.
-- Example:
-- SELECT period_key, max(used_sessions) AS used_sessions, max(included_sessions) AS included_sessions FROM marts.quota_daily GROUP BY period_key ORDER BY period_key;
-- Columns:
--   workspace_id       VARCHAR  none  Workspace
--   period_key         VARCHAR  none  Billing period, as the vendor names it
--   day                DATE     none  Day of the reports in the workspace's time zone
--   used_sessions      BIGINT   none  Sessions used in the period by the end of the day's reports
--   included_sessions  BIGINT   none  Sessions that the plan includes, as the last report of the day has it
--   overage_sessions   BIGINT   none  Sessions used beyond them, likewise
--   overage_packs      BIGINT   none  Packs charged for these, likewise
WITH sampled AS (
  SELECT workspace_id, period_key, epoch_us(reported_at) // 900000000 AS quarter,
    max({reported_at: reported_at, used: used_sessions, included: included_sessions, overage: overage_sessions, packs: overage_packs}) AS last
  FROM _quota WHERE trim(period_key) <> '' AND used_sessions IS NOT NULL GROUP BY ALL
),
counted AS (
  SELECT *, least(last.used, greatest(lead(last.used) OVER later, lead(last.used, 2, last.used) OVER later)) AS used
  FROM sampled WINDOW later AS (PARTITION BY workspace_id, period_key ORDER BY quarter)
)
SELECT
  workspace_id, period_key, local_day(make_timestamptz(quarter * 900000000), w.time_zone) AS day, max(used) AS used_sessions, max(last).included AS included_sessions, max(last).overage AS overage_sessions,
  max(last).packs AS overage_packs
FROM counted LEFT JOIN _workspaces w USING (workspace_id) GROUP BY ALL
