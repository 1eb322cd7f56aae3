-- Adds to `changed_conversations` those whose agent has another title.
INSERT INTO changed_conversations
SELECT f.workspace_id, f.agent_id, f.conversation_id
FROM marts.fct_conversations f
SEMI JOIN changed_dim_agents USING (workspace_id, agent_id)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
ANTI JOIN changed_conversations USING (workspace_id, agent_id, conversation_id)
WHERE f.agent_title IS DISTINCT FROM d.agent_title
