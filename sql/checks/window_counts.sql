-- The windows of a workspace returned as many records as its pages hold, loaded or quarantined.
-- severity: error
-- table: _windows
SELECT w.workspace_id, w.returned, l.records
FROM (SELECT workspace_id, sum(returned) AS returned FROM _windows GROUP BY ALL) w
JOIN (SELECT workspace_id, sum(records) AS records FROM _loads WHERE stream = 'conversations' GROUP BY ALL) l USING (workspace_id)
LEFT JOIN (SELECT workspace_id, count(*) AS held FROM _quarantine WHERE record = 'conversation' GROUP BY ALL) q USING (workspace_id)
WHERE w.returned <> l.records + coalesce(q.held, 0);
