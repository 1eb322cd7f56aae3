-- The most frequent tags of a quarter.
SELECT tag, sum(conversations) AS conversations, sum(csat_score_sum) / nullif(sum(csat_answers), 0) AS csat
FROM marts.tags_daily WHERE day >= $day::DATE - 90 AND day <= $day::DATE GROUP BY ALL ORDER BY conversations DESC LIMIT 100
