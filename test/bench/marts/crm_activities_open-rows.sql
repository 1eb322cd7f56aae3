SELECT conversation_id, position, activity_type, due_day, assignee_name, lead_stage, lead_value, lead_currency
FROM marts.crm_activities_open WHERE is_counted AND agent_id = $agent AND due_day = $day::DATE ORDER BY due_at, conversation_id LIMIT 1000
