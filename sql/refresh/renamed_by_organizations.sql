-- Adds to `changed_conversations` those with a handoff to an organization that has another name.
INSERT INTO changed_conversations
SELECT DISTINCT f.workspace_id, f.agent_id, f.conversation_id
FROM marts.fct_handoffs f
SEMI JOIN changed_organizations USING (workspace_id, organization_id)
LEFT JOIN organizations o USING (workspace_id, organization_id)
ANTI JOIN changed_conversations USING (workspace_id, agent_id, conversation_id)
WHERE f.organization_name IS DISTINCT FROM coalesce(or_null(o.name), f.organization_id)
