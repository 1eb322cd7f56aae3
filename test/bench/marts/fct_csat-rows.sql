-- The worst answers of an agent since a day.
SELECT conversation_id, day, csat_score, csat_ease, assignee_name, was_handed_off
FROM marts.fct_csat WHERE is_counted AND agent_id = $agent AND day >= $day::DATE ORDER BY csat_score, submitted_at LIMIT 1000
