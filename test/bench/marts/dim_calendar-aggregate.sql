-- Days without conversations.
SELECT c.month_begin, count(*) AS days, count(*) FILTER (d.day IS NULL) AS empty_days
FROM marts.dim_calendar c LEFT JOIN (SELECT DISTINCT workspace_id, day FROM marts.conversations_daily WHERE conversations > 0) d USING (workspace_id, day)
GROUP BY ALL ORDER BY ALL
