-- What each person did in a quarter.
SELECT user_name, sum(assigned) AS assigned, sum(resolved) AS resolved, sum(handoff_wait_seconds_sum) / nullif(sum(handoffs_accepted), 0) AS wait
FROM marts.people_daily WHERE day >= $day::DATE - 90 AND day <= $day::DATE GROUP BY ALL ORDER BY ALL
