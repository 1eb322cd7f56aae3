SELECT * FROM marts.custom_metrics_daily WHERE agent_id = $agent AND day >= $day::DATE - 30 ORDER BY day, metric_id, channel, value_rank LIMIT 1000
