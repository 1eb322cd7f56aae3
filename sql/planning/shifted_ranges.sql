-- Returns ranges around the boundary of two pages that may hide conversations, because a record left the window between the
-- two requests: if cursors are offsets, the later pages then begin too far on. A record has left if it was requested later
-- and is gone, or if a later window returned it with a `ts` outside of the range of its page. Each range is listed until a
-- later window reads it again. $since: time of the oldest evidence. $lag: maximum lag of the mirror (s).
WITH several AS (
  SELECT agent_id, window_name FROM _windows
  WHERE workspace_id = $workspace AND pages > 1 AND opened_at >= $since::TIMESTAMPTZ AND kind IN ('head', 'tail', 'full', 'reread')
),
ranged AS (
  -- The vendor reads a page after the request was sent; dates of answers have whole seconds.
  SELECT agent_id, window_name, file, kind, sent_at, sent_at + to_milliseconds(coalesce(duration_ms, 0) + 2000) AS read_by, coalesce(from_at, '-infinity'::TIMESTAMPTZ) AS from_at, to_at
  FROM _requests WHERE workspace_id = $workspace AND to_at IS NOT NULL AND sent_at >= $since::TIMESTAMPTZ
),
boundaries AS MATERIALIZED (
  SELECT agent_id, window_name, sent_at AS after_at, lead(read_by) OVER pages AS before_at,
    greatest(from_at, lead(from_at) OVER pages) AS from_at, least(to_at, lead(to_at) OVER pages) AS to_at
  FROM ranged SEMI JOIN several USING (agent_id, window_name)
  WINDOW pages AS (PARTITION BY agent_id, window_name ORDER BY file)
  QUALIFY before_at IS NOT NULL AND from_at <= to_at
),
gone AS (
  SELECT agent_id, conversation_id, _missing_since AS gone_at FROM conversations
  WHERE workspace_id = $workspace AND _missing_since >= $since::TIMESTAMPTZ
),
-- Conversations that were seen or searched again.
candidates AS (
  SELECT agent_id, conversation_id FROM conversation_observations
  WHERE workspace_id = $workspace AND source = 'export' AND observed_at >= $since::TIMESTAMPTZ GROUP BY ALL HAVING count(*) > 1
  UNION
  SELECT agent_id, conversation_id FROM gone
),
returned AS MATERIALIZED (
  SELECT o.agent_id, o.conversation_id, o.observed_at, r.window_name, r.from_at, r.to_at
  FROM (FROM conversation_observations SEMI JOIN candidates USING (agent_id, conversation_id)
      WHERE workspace_id = $workspace AND source = 'export' AND observed_at >= $since::TIMESTAMPTZ) o
    JOIN ranged r ON r.agent_id = o.agent_id AND r.sent_at = o.observed_at AND r.kind = o.kind
),
-- Earliest and latest time when a record left its place: between two sightings, or at its later `ts`.
departures AS (
  SELECT r.agent_id, r.window_name, r.observed_at, max(o.observed_at) AS earliest, any_value(g.gone_at) AS latest
  FROM returned r JOIN gone g USING (agent_id, conversation_id)
    JOIN conversation_observations o ON o.workspace_id = $workspace AND o.agent_id = r.agent_id AND o.conversation_id = r.conversation_id
  GROUP BY r.agent_id, r.window_name, r.observed_at, r.conversation_id
  UNION ALL
  SELECT r.agent_id, r.window_name, r.observed_at,
    CASE WHEN c.ts BETWEEN l.from_at AND l.to_at + INTERVAL 1 SECOND THEN c.ts ELSE l.from_at END,
    CASE WHEN c.ts BETWEEN l.from_at AND l.to_at + INTERVAL 1 SECOND THEN c.ts ELSE l.to_at END
  FROM returned r
    JOIN returned l ON l.agent_id = r.agent_id AND l.conversation_id = r.conversation_id AND l.observed_at > r.observed_at
      AND (l.from_at > r.to_at OR l.to_at < r.from_at)
    JOIN conversations c ON c.workspace_id = $workspace AND c.agent_id = r.agent_id AND c.conversation_id = r.conversation_id
),
shifted AS (
  SELECT DISTINCT b.* FROM boundaries b JOIN departures d
    ON d.agent_id = b.agent_id AND d.window_name = b.window_name AND d.observed_at <= b.after_at
      AND d.earliest <= b.before_at AND d.latest + to_seconds($lag) >= b.after_at
  WHERE NOT EXISTS (
    SELECT 1 FROM _windows w
    WHERE w.workspace_id = $workspace AND w.agent_id = b.agent_id AND w.kind IN ('full', 'reread') AND w.opened_at > b.before_at
      AND w.to_at >= b.to_at AND coalesce(w.from_at, '-infinity'::TIMESTAMPTZ) <= b.from_at)
)
SELECT s.agent_id AS "agentId", CASE WHEN s.from_at > '-infinity' THEN epoch(s.from_at)::BIGINT::DOUBLE END AS "fromSec", epoch(s.to_at)::BIGINT::DOUBLE AS "toSec",
  epoch_ms(s.before_at)::DOUBLE AS "readAtMs", count(c.conversation_id)::DOUBLE AS scanned,
  count(c.conversation_id)::DOUBLE AS returned, 0 AS "knownFromEvents",
  greatest(count(c.conversation_id), coalesce(sum(c.sessions_num), 0))::DOUBLE AS sessions, true AS shifted
FROM shifted s LEFT JOIN conversations c ON c.workspace_id = $workspace AND c.agent_id = s.agent_id
  AND c.ts >= s.from_at AND c.ts < s.to_at + INTERVAL 1 SECOND
GROUP BY ALL ORDER BY ALL
