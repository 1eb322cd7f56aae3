-- New contacts of a day.
SELECT contact_id, name, channel_names, conversations, last_activity_at
FROM marts.dim_contacts WHERE agent_id = $agent AND first_day = $day::DATE ORDER BY conversations DESC, contact_id LIMIT 1000
