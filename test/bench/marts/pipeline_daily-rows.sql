SELECT * FROM marts.pipeline_daily WHERE agent_id = $agent AND lead_currency = 'EUR' AND day >= $day::DATE - 30 ORDER BY day, lead_stage LIMIT 1000
