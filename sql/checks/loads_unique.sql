-- A landed file is loaded once.
-- severity: error
-- table: _loads
SELECT workspace_id, file, count(*) AS loads FROM _loads GROUP BY ALL HAVING count(*) > 1;
