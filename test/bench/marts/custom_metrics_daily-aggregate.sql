-- Averages of numbers by month.
SELECT c.month_begin, m.metric_key, sum(m.value_sum) / nullif(sum(m.measurements), 0) AS average
FROM marts.custom_metrics_daily m JOIN marts.dim_calendar c USING (workspace_id, day) WHERE m.value_type = 'number' GROUP BY ALL ORDER BY ALL
