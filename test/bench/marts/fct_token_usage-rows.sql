SELECT conversation_id, model_id, tokens, tokens_usd
FROM marts.fct_token_usage WHERE is_counted AND agent_id = $agent AND day = $day::DATE ORDER BY tokens DESC LIMIT 1000
