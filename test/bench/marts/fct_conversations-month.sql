-- Handling by day of one month.
SELECT day, count(*) AS conversations, count(*) FILTER (was_reopened) / count(*) FILTER (was_resolved) AS reopened_share,
  quantile_cont(first_response_seconds, 0.9) AS first_response, quantile_cont(seconds_to_assignment, 0.5) AS assignment
FROM marts.fct_conversations WHERE is_counted AND day >= $month::DATE AND day < $month::DATE + INTERVAL 1 MONTH GROUP BY ALL ORDER BY ALL
