-- Satisfaction by month and channel.
SELECT date_trunc('month', day) AS month, channel, avg(csat_score) AS score, count(csat_score) AS answers
FROM marts.fct_csat WHERE is_counted GROUP BY ALL ORDER BY ALL
