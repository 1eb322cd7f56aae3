SELECT * FROM marts.people_daily WHERE agent_id = $agent AND day >= $day::DATE - 30 ORDER BY day, user_id LIMIT 1000
