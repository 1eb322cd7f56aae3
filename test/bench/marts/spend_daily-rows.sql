SELECT * FROM marts.spend_daily WHERE agent_id = $agent AND day >= $day::DATE - 60 ORDER BY day, channel LIMIT 1000
