-- A conversation stands in its table once: the wide table has no primary key, so this is what holds it.
SELECT workspace_id, agent_id, conversation_id, count(*) AS rows
FROM conversations GROUP BY ALL HAVING count(*) > 1;
