SELECT * FROM marts.credits WHERE agent_id = $agent ORDER BY measure LIMIT 1000
