-- Marks the conversations of `absent` as missing or not exportable since the first absence after they were last
-- returned or fetched. A later verdict of the other kind revokes the mark. A conversation that was requested by id
-- after its last known change is no longer dirty, so it is not requested again.
UPDATE conversations AS c SET
  _missing_since = m.missing_since,
  _not_exportable_since = m.not_exportable_since,
  _dirty_since = CASE WHEN c._changed_at >= m.as_of AND (NOT c._complete OR c._changed_at >= c._as_of) THEN c._changed_at END
FROM (
  SELECT agent_id, conversation_id, max(as_of) AS as_of,
    min(since) FILTER (verdict = 'gone' AND is_after AND coalesce(before_at > last_not_exportable, true)) AS missing_since,
    min(since) FILTER (verdict = 'not exportable' AND is_after AND coalesce(before_at > last_gone, true)) AS not_exportable_since
  FROM (
    SELECT a.*, a.before_at > greatest(r._fetched_at, s.seen_at) AS is_after,
      max(a.before_at) FILTER (a.verdict = 'gone') OVER (PARTITION BY a.agent_id, a.conversation_id) AS last_gone,
      max(a.before_at) FILTER (a.verdict = 'not exportable') OVER (PARTITION BY a.agent_id, a.conversation_id) AS last_not_exportable
    FROM absent a
    JOIN conversations r
      ON r.workspace_id = $workspace AND r.agent_id = a.agent_id AND r.conversation_id = a.conversation_id
    LEFT JOIN (
      SELECT agent_id, conversation_id, max(observed_at) AS seen_at FROM conversation_observations
      WHERE workspace_id = $workspace AND source = 'export'
        AND (agent_id, conversation_id) IN (SELECT agent_id, conversation_id FROM absent)
      GROUP BY ALL
    ) s ON s.agent_id = a.agent_id AND s.conversation_id = a.conversation_id
  )
  GROUP BY ALL
) m
WHERE c.workspace_id = $workspace AND c.agent_id = m.agent_id AND c.conversation_id = m.conversation_id
