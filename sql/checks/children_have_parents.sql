-- A row of a child table belongs to a conversation that is there.
SELECT 'conversation_sessions' AS child, workspace_id, agent_id, conversation_id FROM conversation_sessions
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id)
UNION ALL
SELECT 'conversation_tags', workspace_id, agent_id, conversation_id FROM conversation_tags
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id)
UNION ALL
SELECT 'conversation_handoffs', workspace_id, agent_id, conversation_id FROM conversation_handoffs
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id)
UNION ALL
SELECT 'crm_activities', workspace_id, agent_id, conversation_id FROM crm_activities
  ANTI JOIN conversations USING (workspace_id, agent_id, conversation_id);
