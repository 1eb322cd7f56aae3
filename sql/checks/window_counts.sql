-- Where nothing was quarantined, a window's pages hold as many records as its windows say that they returned.
SELECT w.workspace_id, w.returned, l.records
FROM (SELECT workspace_id, sum(returned) AS returned FROM _windows GROUP BY ALL) w
JOIN (SELECT workspace_id, sum(records) AS records FROM _loads WHERE stream = 'conversations' GROUP BY ALL) l USING (workspace_id)
LEFT JOIN (SELECT workspace_id, count(*) AS held FROM _quarantine WHERE record = 'conversation' GROUP BY ALL) q USING (workspace_id)
WHERE w.returned <> l.records + coalesce(q.held, 0);
