SELECT conversation_id, metric, position, started_at, responder_name, wait_seconds, deadline_at, is_met
FROM marts.fct_responses WHERE is_counted AND agent_id = $agent AND day = $day::DATE ORDER BY wait_seconds DESC LIMIT 1000
