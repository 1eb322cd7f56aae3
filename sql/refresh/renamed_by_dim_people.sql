-- Adds to `changed_conversations` those whose facts name a person whose name has changed.
INSERT INTO changed_conversations
WITH named AS (
  SELECT workspace_id, agent_id, conversation_id, assignee_id AS user_id, assignee_name AS name FROM marts.fct_conversations
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, resolved_by, resolved_by_name FROM marts.fct_conversations
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, accepted_by, accepted_by_name FROM marts.fct_handoffs
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, sender_id, sender_name FROM marts.fct_turns WHERE sender_id IS NOT NULL
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, responder_id, responder_name FROM marts.fct_responses WHERE responder_id IS NOT NULL
)
SELECT DISTINCT n.workspace_id, n.agent_id, n.conversation_id
FROM named n
SEMI JOIN changed_dim_people USING (workspace_id, user_id)
LEFT JOIN marts.dim_people d USING (workspace_id, user_id)
ANTI JOIN changed_conversations USING (workspace_id, agent_id, conversation_id)
WHERE n.name IS DISTINCT FROM d.name
