-- Waiting times by person, over all time.
SELECT accepted_by_name, count(*) AS handoffs, avg(wait_seconds) AS wait, max(wait_seconds) AS longest
FROM marts.fct_handoffs WHERE is_counted AND is_accepted GROUP BY ALL ORDER BY handoffs DESC LIMIT 50
