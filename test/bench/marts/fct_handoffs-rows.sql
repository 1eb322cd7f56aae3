SELECT conversation_id, position, requested_at, accepted_by_name, team_labels, wait_seconds
FROM marts.fct_handoffs WHERE is_counted AND agent_id = $agent AND day = $day::DATE ORDER BY wait_seconds DESC LIMIT 1000
