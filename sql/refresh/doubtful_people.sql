-- Returns people whose newest name or address, or only mention, was in a changed conversation, if no changed
-- conversation has a newer one: an unchanged one may.
WITH found AS (
  SELECT workspace_id, user_id, kind, max({known: text IS NOT NULL, seen_at: seen_at, text: text}) AS newest FROM found_people GROUP BY ALL
)
SELECT DISTINCT p.user_id
FROM lost_people p LEFT JOIN found f USING (workspace_id, user_id, kind)
WHERE f.user_id IS NULL OR (p.text IS NOT NULL AND f.newest < {known: true, seen_at: p.seen_at, text: p.text})
