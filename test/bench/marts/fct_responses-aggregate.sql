-- Reply times by channel and week.
SELECT c.week_begin, r.channel, r.metric, count(*) AS waits, count(*) FILTER (r.is_answered) AS answered, avg(r.wait_seconds) AS wait, avg(r.wait_business_seconds) AS business
FROM marts.fct_responses r JOIN marts.dim_calendar c USING (workspace_id, day) WHERE r.is_counted AND r.day >= $day::DATE - 90 AND r.day <= $day::DATE
GROUP BY ALL ORDER BY ALL
