-- Selects the winning patch for each key of the conversations in `patched_keys`: the one with the newest last change if
-- every patch of the key has one, else the freshest. Returns one row per conversation, with the winning values as one
-- JSON object. Ids are JSON, because the driver drops a byte order mark at the beginning of plain text.
WITH counted AS (
  SELECT *, count(modified) OVER (PARTITION BY agent_id, conversation_id, key) = count(*) OVER (PARTITION BY agent_id, conversation_id, key)
    AS all_dated
  FROM conversation_patches
  WHERE workspace_id = $workspace AND (agent_id, conversation_id) IN (SELECT agent_id, conversation_id FROM patched_keys)
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY agent_id, conversation_id, key ORDER BY
    CASE WHEN all_dated THEN modified ELSE freshness(modified, as_of) END DESC, fetched_at DESC, value::VARCHAR DESC) AS place
  FROM counted
)
SELECT to_json(agent_id) AS agent, to_json(conversation_id) AS id, json_group_object(key, value) AS members
FROM ranked WHERE place = 1 GROUP BY agent_id, conversation_id
