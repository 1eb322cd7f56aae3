-- Stores the patches of `all_patches` that may still win their key: the one with the newest last change, the freshest
-- one, and the newest one without a last change. Last changes decide only if every patch of the key has one, so the
-- next patch may make any of the three the winner.
WITH ranked AS (
  SELECT *,
    row_number() OVER (PARTITION BY agent_id, conversation_id, key
      ORDER BY modified DESC NULLS LAST, fetched_at DESC, value::VARCHAR DESC) AS by_modified,
    row_number() OVER (PARTITION BY agent_id, conversation_id, key
      ORDER BY freshness(modified, as_of) DESC NULLS LAST, fetched_at DESC, value::VARCHAR DESC) AS by_freshness,
    row_number() OVER (PARTITION BY agent_id, conversation_id, key, modified IS NULL
      ORDER BY as_of DESC NULLS LAST, fetched_at DESC, value::VARCHAR DESC) AS among_alike
  FROM all_patches
)
INSERT INTO conversation_patches (workspace_id, agent_id, conversation_id, key, value, modified, as_of, fetched_at)
SELECT $workspace, agent_id, conversation_id, key, value, modified, as_of, fetched_at FROM ranked
WHERE by_freshness = 1 OR (modified IS NOT NULL AND by_modified = 1) OR (modified IS NULL AND among_alike = 1)
