-- Stages patches, one row each, with a mark if the conversation's stored full record overrides all of their keys except `channel` for good.
CREATE OR REPLACE TEMP TABLE staged_patches AS
SELECT p.*, coalesce(c._complete AND outdates(c._base_modified, c._as_of, c._fetched_at, p.modified, p.as_of, p.fetched_at), false) AS overruled
FROM (
  SELECT place::INTEGER AS place, agent_id, conversation_id, modified::TIMESTAMPTZ AS modified, as_of::TIMESTAMPTZ AS as_of,
    fetched_at::TIMESTAMPTZ AS fetched_at FROM patch_texts
) p
LEFT JOIN conversations c
  ON c.workspace_id = $workspace AND c.agent_id = p.agent_id AND c.conversation_id = p.conversation_id
