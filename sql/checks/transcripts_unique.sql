-- A conversation has one transcript: the newest that an event told.
SELECT workspace_id, agent_id, conversation_id, count(*) AS rows FROM conversation_transcripts GROUP BY ALL HAVING count(*) > 1;
