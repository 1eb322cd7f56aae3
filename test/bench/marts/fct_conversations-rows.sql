-- A list to drill down into: the conversations of a day.
SELECT conversation_id, started_at, channel, state, assignee_name, messages, was_resolved, seconds_to_first_resolution, handoffs, csat_score, tokens_usd
FROM marts.fct_conversations WHERE is_counted AND agent_id = $agent AND day = $day::DATE ORDER BY started_at LIMIT 1000
