-- Returns a row if a changed conversation belongs to a new agent, or is gone and may have been the last one of its agent.
SELECT 1 FROM changed_conversations ANTI JOIN marts.dim_agents USING (workspace_id, agent_id)
UNION ALL
SELECT 1 FROM changed_conversations ANTI JOIN scoped_conversations USING (workspace_id, agent_id, conversation_id)
LIMIT 1
