-- Adds to `changed_conversations` those whose facts have a name that has changed.
INSERT INTO changed_conversations
SELECT workspace_id, agent_id, conversation_id FROM (
  SELECT f.workspace_id, f.agent_id, f.conversation_id
  FROM marts.fct_conversations f
  SEMI JOIN changed_dim_agents USING (workspace_id, agent_id)
  LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
  WHERE f.agent_title IS DISTINCT FROM d.agent_title
  UNION
  SELECT f.workspace_id, f.agent_id, f.conversation_id
  FROM marts.fct_conversations f
  JOIN changed_dim_people c ON c.workspace_id = f.workspace_id AND c.user_id = f.assignee_id
  LEFT JOIN marts.dim_people d ON d.workspace_id = f.workspace_id AND d.user_id = f.assignee_id
  WHERE f.assignee_name IS DISTINCT FROM d.name
  UNION
  SELECT f.workspace_id, f.agent_id, f.conversation_id
  FROM marts.fct_conversations f
  JOIN changed_dim_people c ON c.workspace_id = f.workspace_id AND c.user_id = f.resolved_by
  LEFT JOIN marts.dim_people d ON d.workspace_id = f.workspace_id AND d.user_id = f.resolved_by
  WHERE f.resolved_by_name IS DISTINCT FROM d.name
)
ANTI JOIN changed_conversations USING (workspace_id, agent_id, conversation_id)
