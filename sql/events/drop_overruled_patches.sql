-- Drops patches of the conversations in `patched_keys` that their full record replaces. No full record has a `channel`, which only events
-- carry, so that patch stays.
DELETE FROM conversation_patches AS p USING conversations c
WHERE p.workspace_id = $workspace AND c.workspace_id = p.workspace_id AND c.agent_id = p.agent_id AND c.conversation_id = p.conversation_id
  AND (c.agent_id, c.conversation_id) IN (SELECT agent_id, conversation_id FROM patched_keys)
  AND c._complete AND p.key <> 'channel'
  AND replaces(c._base_modified, c._as_of, c._fetched_at, p.modified, p.as_of, p.fetched_at)
