SELECT * FROM marts.funnel_daily WHERE agent_id = $agent AND day >= $day::DATE - 60 ORDER BY day, channel, step LIMIT 1000
