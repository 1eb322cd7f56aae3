-- Stores when a workspace is open. `hours`: JSON of {weekday, from, to}, in minutes of the local day (weekday 1: Monday); `holidays`: JSON of days.
-- Columns such as `day` and `moment` are UTC, and become times with `AT TIME ZONE`, since DuckDB adds intervals to them ten times as fast. The local
-- clock decides whether a time is within business hours: an hour that a change of the offset repeats counts twice, a skipped one not at all.
INSERT INTO _business_hours
WITH RECURSIVE days AS (
  SELECT unnest(generate_series(TIMESTAMP '2009-12-30', TIMESTAMP '2060-01-02', INTERVAL 1 DAY)) AS day
),
offsets AS (SELECT day AS moment, (day AT TIME ZONE 'UTC' AT TIME ZONE $zone) - day AS shift FROM days),
changed AS (
  SELECT lag(moment) OVER (ORDER BY moment) AS low, moment AS high, lag(shift) OVER (ORDER BY moment) AS before, shift AS after FROM offsets
  QUALIFY before <> after
),
-- Finds the second in which the offset changes, by bisection.
search AS (
  SELECT low, high, before, after FROM changed
  UNION ALL
  SELECT CASE WHEN shift = before THEN middle ELSE low END, CASE WHEN shift = before THEN high ELSE middle END, before, after
  FROM (SELECT *, (middle AT TIME ZONE 'UTC' AT TIME ZONE $zone) - middle AS shift
    FROM (SELECT *, low + to_seconds(date_diff('second', low, high) // 2) AS middle FROM search WHERE date_diff('second', low, high) > 1))
),
begins AS (
  SELECT moment AS begins_at, shift FROM offsets WHERE moment = TIMESTAMP '2009-12-30'
  UNION ALL SELECT high, after FROM search WHERE date_diff('second', low, high) = 1
),
segments AS (
  SELECT begins_at, lead(begins_at, 1, TIMESTAMP '2060-01-02') OVER (ORDER BY begins_at) AS ends_at, shift FROM begins
),
hours AS (
  SELECT h.weekday, to_minutes(h."from") AS opening, to_minutes(h."to") AS closing
  FROM (SELECT unnest(from_json($hours, '[{"weekday": "INTEGER", "from": "INTEGER", "to": "INTEGER"}]')) AS h)
),
open_days AS (
  SELECT day + opening AS opens, day + closing AS closes
  FROM days JOIN hours ON isodow(day) = weekday
  WHERE NOT list_contains(from_json($holidays, '["DATE"]'), day::DATE)
),
open AS (
  SELECT greatest(opens - shift, begins_at, TIMESTAMP '2010-01-01') AS opens_at, least(closes - shift, ends_at, TIMESTAMP '2060-01-01') AS closes_at
  FROM open_days JOIN segments ON opens - shift < ends_at AND closes - shift > begins_at
)
SELECT $workspace, opens_at AT TIME ZONE 'UTC', closes_at AT TIME ZONE 'UTC',
  coalesce(sum(date_diff('second', opens_at, closes_at)) OVER (ORDER BY opens_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT
FROM open WHERE opens_at < closes_at
ORDER BY opens_at
