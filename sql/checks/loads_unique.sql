-- A landed file is loaded once.
SELECT workspace_id, file, count(*) AS loads FROM _loads GROUP BY ALL HAVING count(*) > 1;
