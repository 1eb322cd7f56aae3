-- Messages of a day that contain a word.
SELECT conversation_id, position, written_at, sender, text
FROM marts.fct_turns WHERE agent_id = $agent AND day = $day::DATE AND text ILIKE '%said%' ORDER BY written_at LIMIT 1000
