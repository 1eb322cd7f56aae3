-- Waiting times by organization and week.
SELECT c.week_begin, h.organization_name, count(*) AS handoffs, count(*) FILTER (h.is_accepted) AS accepted, avg(h.wait_seconds) AS wait, max(h.wait_seconds) AS longest
FROM marts.fct_handoffs h JOIN marts.dim_calendar c USING (workspace_id, day) WHERE h.is_counted AND h.day >= $day::DATE - 90 AND h.day <= $day::DATE
GROUP BY ALL ORDER BY ALL
