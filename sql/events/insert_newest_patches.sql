-- Stores the patches of `all_patches` that may still win their key over some full record: those without a newer patch of the same
-- kind, with or without a last change, that is at least as fresh.
WITH ranked AS (
  SELECT *, max(freshness(modified, as_of)) OVER (PARTITION BY agent_id, conversation_id, key, modified IS NULL
      ORDER BY coalesce(modified, as_of) DESC, fetched_at DESC, value::VARCHAR DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS fresher
  FROM all_patches
)
INSERT INTO conversation_patches (workspace_id, agent_id, conversation_id, key, value, modified, as_of, fetched_at)
SELECT $workspace, agent_id, conversation_id, key, value, modified, as_of, fetched_at FROM ranked
WHERE fresher IS NULL OR freshness(modified, as_of) > fresher
