SELECT conversation_id, position, state, began_at, ended_at, observed_seconds
FROM marts.fct_state_spans WHERE is_counted AND agent_id = $agent AND day = $day::DATE ORDER BY observed_seconds DESC LIMIT 1000
