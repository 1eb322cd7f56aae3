-- Overdue activities by person.
SELECT assignee_name, count(*) AS activities, count(*) FILTER (due_day < $day::DATE) AS overdue
FROM marts.crm_activities_open WHERE is_counted GROUP BY ALL ORDER BY overdue DESC LIMIT 50
