-- The most expensive conversations of a month.
SELECT conversation_id, day, tokens, tokens_usd, credits
FROM marts.fct_spend WHERE is_counted AND agent_id = $agent AND day >= $month::DATE AND day < $month::DATE + INTERVAL 1 MONTH ORDER BY tokens_usd DESC LIMIT 1000
