-- Marks the conversations of `touched` that events have changed. A conversation is dirty if it changed at or after
-- `_as_of` of its exported copy, or if it was never exported. In the latter case it is as fresh as its newest event.
UPDATE conversations AS c SET
  _changed_at = greatest(c._changed_at, t.changed),
  _dirty_since = CASE WHEN NOT c._complete OR greatest(c._changed_at, t.changed) >= c._as_of THEN greatest(c._changed_at, t.changed) END,
  _version = CASE WHEN c._complete THEN c._version ELSE greatest(c._version, t.newest) END,
  _as_of = CASE WHEN c._complete THEN c._as_of ELSE greatest(c._as_of, t.newest) END,
  _fetched_at = CASE WHEN c._complete THEN c._fetched_at ELSE greatest(c._fetched_at, t.place) END
FROM (
  SELECT agent_id, conversation_id, max(as_of) FILTER (outdates) AS changed, max(as_of) AS newest, max(fetched_at) AS place
  FROM touched GROUP BY ALL
) t
WHERE c.workspace_id = $workspace AND c.agent_id = t.agent_id AND c.conversation_id = t.conversation_id
