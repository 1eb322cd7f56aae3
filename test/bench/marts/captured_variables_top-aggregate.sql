-- The most frequent values of all time.
SELECT variable, value_text, sum(conversations) AS conversations
FROM marts.captured_variables_top WHERE NOT is_rest GROUP BY ALL ORDER BY conversations DESC, variable, value_text LIMIT 100
