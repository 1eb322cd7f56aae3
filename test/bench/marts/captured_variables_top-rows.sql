SELECT * FROM marts.captured_variables_top WHERE agent_id = $agent AND day >= $day::DATE - 30 ORDER BY day, variable, value_rank LIMIT 1000
