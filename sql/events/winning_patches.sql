-- Selects the winning patch for each key of the conversations in `patched_keys`: the one with the newest last change, or event, among
-- those that the full record does not override. Returns one row per conversation, with the winning values as one JSON object. Ids are
-- JSON, because the driver drops a byte order mark at the beginning of plain text.
WITH ranked AS (
  SELECT p.*, row_number() OVER (PARTITION BY p.agent_id, p.conversation_id, p.key
    ORDER BY coalesce(p.modified, p.as_of) DESC, p.fetched_at DESC, p.value::VARCHAR DESC) AS place
  FROM conversation_patches p
  JOIN conversations c ON c.workspace_id = p.workspace_id AND c.agent_id = p.agent_id AND c.conversation_id = p.conversation_id
  WHERE p.workspace_id = $workspace AND (p.agent_id, p.conversation_id) IN (SELECT agent_id, conversation_id FROM patched_keys)
    AND NOT (c._complete AND p.key <> 'channel' AND replaces(c._base_modified, c._as_of, c._fetched_at, p.modified, p.as_of, p.fetched_at))
)
SELECT to_json(agent_id) AS agent, to_json(conversation_id) AS id, json_group_object(key, value) AS members
FROM ranked WHERE place = 1 GROUP BY agent_id, conversation_id
