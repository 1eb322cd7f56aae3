-- An event is applied once, however often it was delivered.
SELECT workspace_id, event_id, count(*) AS rows FROM webhook_events GROUP BY ALL HAVING count(*) > 1;
