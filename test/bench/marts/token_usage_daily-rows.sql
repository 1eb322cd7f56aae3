SELECT * FROM marts.token_usage_daily WHERE agent_id = $agent ORDER BY day DESC, model_id LIMIT 1000
