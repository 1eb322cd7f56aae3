-- Returns ranges of `ts` since $since that may hide conversations: those whose newest page skipped more conversations
-- than have become known there by other means. In addition, returns $others pages of head windows (NULL for all) that
-- hide none, because late conversations may lie in any range. $seed makes this choice repeatable.
WITH reread AS (
  SELECT agent_id, from_at, to_at, opened_at FROM _windows
  WHERE workspace_id = $workspace AND to_at >= $since::TIMESTAMPTZ AND kind IN ('full', 'reread')
),
-- Pages whose range no later window has read again or is reading.
newest AS (
  SELECT * FROM _requests r
  WHERE workspace_id = $workspace AND to_at >= $since::TIMESTAMPTZ AND NOT EXISTS (
    SELECT 1 FROM reread w WHERE w.agent_id = r.agent_id AND w.opened_at > r.sent_at AND w.to_at >= r.to_at
      AND coalesce(w.from_at <= r.from_at, w.from_at IS NULL))
),
-- Conversations known only from events or requests by id, since no window over a range has returned them.
found_otherwise AS MATERIALIZED (
  SELECT agent_id, ts FROM conversations c
  WHERE workspace_id = $workspace AND ts >= $since::TIMESTAMPTZ AND NOT EXISTS (
    SELECT 1 FROM conversation_observations o
    WHERE o.workspace_id = c.workspace_id AND o.agent_id = c.agent_id AND o.conversation_id = c.conversation_id
      AND o.source = 'export' AND o.observed_at >= $since::TIMESTAMPTZ
      AND coalesce(o.kind, '') NOT IN ('selected', 'refresh', 'sample'))
),
found_by_page AS (
  SELECT n.file, count(*) AS found
  FROM newest n JOIN found_otherwise c
    ON c.agent_id = n.agent_id AND c.ts < n.to_at + INTERVAL 1 SECOND AND c.ts >= coalesce(n.from_at, '-infinity'::TIMESTAMPTZ)
  WHERE n.scanned > n.returned GROUP BY n.file
),
pages AS (
  SELECT n.*, coalesce(f.found, 0) AS found, n.scanned - n.returned - coalesce(f.found, 0) AS hidden
  FROM newest n LEFT JOIN found_by_page f USING (file)
),
chosen AS (
  FROM pages WHERE hidden > 0
  UNION ALL
  (FROM pages WHERE hidden <= 0 AND kind = 'head' ORDER BY hash(file, $seed) LIMIT $others)
)
SELECT agent_id AS "agentId", epoch(from_at)::BIGINT::DOUBLE AS "fromSec", epoch(to_at)::BIGINT::DOUBLE AS "toSec",
  epoch_ms(sent_at)::DOUBLE AS "readAtMs", scanned::DOUBLE AS scanned, returned::DOUBLE AS returned,
  found::DOUBLE AS "knownFromEvents", coalesce(billed_sessions, returned)::DOUBLE AS sessions
FROM chosen ORDER BY agent_id, to_at, file
