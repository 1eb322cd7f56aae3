SELECT conversation_id, day, lead_stage, lead_value, lead_currency, assignee_name
FROM marts.fct_leads WHERE is_counted AND agent_id = $agent AND lead_currency = 'EUR' AND day >= $day::DATE - 30 ORDER BY lead_value DESC LIMIT 1000
