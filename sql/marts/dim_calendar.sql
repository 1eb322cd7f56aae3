-- dim_calendar: one row for each day from the first to the last day of any fact of the workspace, without gaps, at most the last ten years.
-- Grain: workspace_id, day
-- Month: day
-- Refresh: whole
-- Built from: marts.fct_conversations, marts.fct_spend, marts.fct_handoffs, marts.fct_csat, marts.fct_token_usage, marts.fct_state_spans, marts.fct_turns,
--   marts.fct_responses, marts.fct_resolutions
-- Use: left join figures to it by `workspace_id` and `day`, so that days without any appear, and group by its columns for weeks, months and quarters.
-- Days are those of the workspace's time zone, and so are the weeks: `date_trunc('week', …)` of a stored time would have weeks of UTC. Weeks are those
-- of ISO 8601: they begin on Monday, and the week belongs to the year of its Thursday. A record's time may be wrong by centuries: days after the newest record
-- was seen, and more than ten years before the last day that is left, are in no row; `_issues` counts their times.
-- Example:
-- SELECT c.day, coalesce(sum(d.conversations), 0) AS conversations
-- FROM marts.dim_calendar c LEFT JOIN marts.conversations_daily d USING (workspace_id, day)
-- GROUP BY c.day ORDER BY c.day;
-- Columns:
--   workspace_id  VARCHAR  none  Workspace
--   day           DATE     none  Day
--   time_zone     VARCHAR  none  Time zone of the workspace's days, as configured
--   year          BIGINT   none  Year
--   quarter       BIGINT   none  Quarter, 1 to 4
--   month         BIGINT   none  Month, 1 to 12
--   month_name    VARCHAR  none  Name of the month
--   month_begin   DATE     none  First day of the month
--   iso_year      BIGINT   none  Year of the ISO week
--   iso_week      BIGINT   none  ISO week, 1 to 53
--   week_begin    DATE     none  Monday of the week
--   week_label    VARCHAR  none  ISO week as text, e.g. 2026-W05
--   weekday       BIGINT   none  Day of the week, 1 (Monday) to 7 (Sunday)
--   weekday_name  VARCHAR  none  Name of the day
--   is_weekend    BOOLEAN  none  Saturday or Sunday
WITH facts AS (
  SELECT workspace_id, day FROM (
    SELECT workspace_id, day FROM marts.fct_conversations
    UNION ALL SELECT workspace_id, day FROM marts.fct_spend
    UNION ALL SELECT workspace_id, day FROM marts.fct_handoffs
    UNION ALL SELECT workspace_id, day FROM marts.fct_csat
    UNION ALL SELECT workspace_id, day FROM marts.fct_token_usage
    UNION ALL SELECT workspace_id, day FROM marts.fct_state_spans
    UNION ALL SELECT workspace_id, day FROM marts.fct_turns
    UNION ALL SELECT workspace_id, day FROM marts.fct_responses
    UNION ALL SELECT workspace_id, day FROM marts.fct_resolutions
  ) GROUP BY ALL
),
seen AS (
  SELECT workspace_id, local_day(max(greatest(as_of, last_observed_at)), any_value(time_zone)) AS seen_day
  FROM marts.fct_conversations LEFT JOIN _workspaces USING (workspace_id) GROUP BY ALL
),
ends AS (SELECT workspace_id, max(day) AS last_day FROM facts JOIN seen USING (workspace_id) WHERE day <= seen_day GROUP BY ALL),
days AS (
  SELECT workspace_id, unnest(generate_series(min(day), last_day, INTERVAL 1 DAY))::DATE AS day
  FROM facts JOIN ends USING (workspace_id) WHERE day BETWEEN last_day - INTERVAL 10 YEAR AND last_day GROUP BY workspace_id, last_day
)
SELECT
  workspace_id, day, coalesce(w.time_zone, 'UTC') AS time_zone, year(day) AS year, quarter(day) AS quarter, month(day) AS month, monthname(day) AS month_name,
  date_trunc('month', day)::DATE AS month_begin, isoyear(day) AS iso_year, weekofyear(day) AS iso_week, date_trunc('week', day)::DATE AS week_begin,
  strftime(day, '%G-W%V') AS week_label, isodow(day) AS weekday, dayname(day) AS weekday_name, isodow(day) > 5 AS is_weekend
FROM days LEFT JOIN _workspaces w USING (workspace_id)
