-- Messages and characters by sender and week.
SELECT c.week_begin, t.sender, count(*) AS messages, sum(t.characters) AS characters, avg(t.seconds_since_previous) AS pause
FROM marts.fct_turns t JOIN marts.dim_calendar c USING (workspace_id, day) WHERE t.is_counted AND t.day >= $day::DATE - 90 AND t.day <= $day::DATE
GROUP BY ALL ORDER BY ALL
