SELECT * FROM marts.tags_daily WHERE agent_id = $agent AND day >= $day::DATE - 30 ORDER BY day, channel, tag_rank LIMIT 1000
