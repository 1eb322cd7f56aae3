-- The funnel of all time, by month.
SELECT c.month_begin, f.step, sum(f.conversations) AS conversations, sum(f.seconds_to_step_sum) / nullif(sum(f.timed), 0) AS seconds
FROM marts.funnel_daily f JOIN marts.dim_calendar c USING (workspace_id, day) GROUP BY ALL ORDER BY ALL
