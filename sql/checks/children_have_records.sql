-- A row of a child table belongs to a conversation that is there, and has its number.
SELECT 'conversation_linked_channels' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_linked_channels
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_tags' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_tags
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_assigned_ids' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_assigned_ids
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_assigned_users' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_assigned_users
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_handoffs' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_handoffs
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_handoff_team_ids' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_handoff_team_ids
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_handoff_team_keys' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_handoff_team_keys
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'crm_activities' AS child, workspace_id, agent_id, conversation_id, _record FROM crm_activities
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'crm_activity_notes' AS child, workspace_id, agent_id, conversation_id, _record FROM crm_activity_notes
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'token_usage_by_model' AS child, workspace_id, agent_id, conversation_id, _record FROM token_usage_by_model
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_captured_variables' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_captured_variables
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_campaign_calls' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_campaign_calls
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_sessions' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_sessions
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_metrics' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_metrics
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_funnel_steps' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_funnel_steps
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_funnel_scores' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_funnel_scores
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_funnel_data' AS child, workspace_id, agent_id, conversation_id, _record FROM conversation_funnel_data
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id, _record);
