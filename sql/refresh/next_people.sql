-- Returns the new rows of `_people` for people that changed conversations name or named.
WITH candidates AS (
  FROM _people SEMI JOIN touched_people USING (workspace_id, user_id) ANTI JOIN changed_conversations USING (workspace_id, agent_id, conversation_id)
  UNION ALL
  FROM found_people
)
SELECT workspace_id, user_id, kind, one.text AS text, one.seen_at AS seen_at, one.agent_id AS agent_id, one.conversation_id AS conversation_id
FROM (
  SELECT workspace_id, user_id, kind,
    max({known: text IS NOT NULL, seen_at: seen_at, text: text, agent_id: agent_id, conversation_id: conversation_id}) AS one
  FROM candidates GROUP BY ALL
)
