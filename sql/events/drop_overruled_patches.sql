-- Deletes the patches that the full record of a conversation in `patched_keys` overrides for good. Patches of `channel` stay,
-- since only events carry a channel and no full record replaces it.
DELETE FROM conversation_patches AS p USING conversations c
WHERE p.workspace_id = $workspace AND c.workspace_id = p.workspace_id AND c.agent_id = p.agent_id AND c.conversation_id = p.conversation_id
  AND (c.agent_id, c.conversation_id) IN (SELECT agent_id, conversation_id FROM patched_keys)
  AND c._complete AND p.key <> 'channel'
  AND outdates(c._base_modified, c._as_of, c._fetched_at, p.modified, p.as_of, p.fetched_at)
