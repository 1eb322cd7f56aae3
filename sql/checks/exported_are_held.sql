-- Every conversation that an export returned has a complete row, and an export returned every complete row: observations and rows agree.
-- severity: error
-- table: conversations
WITH given AS (
  SELECT DISTINCT workspace_id, agent_id, conversation_id FROM conversation_observations WHERE source = 'export'
),
held AS (SELECT workspace_id, agent_id, conversation_id FROM conversations WHERE _complete)
SELECT 'given and not held' AS fault, * FROM given ANTI JOIN held USING (workspace_id, agent_id, conversation_id)
UNION ALL
SELECT 'held and not given', * FROM held ANTI JOIN given USING (workspace_id, agent_id, conversation_id);
