-- Weekly figures by channel.
SELECT c.week_begin, d.channel, sum(d.conversations) AS conversations, sum(d.ever_resolved) AS resolved,
  sum(d.csat_score_sum) / nullif(sum(d.csat_answers), 0) AS csat, sum(d.tokens_usd) AS usd
FROM marts.conversations_daily d JOIN marts.dim_calendar c USING (workspace_id, day)
GROUP BY ALL ORDER BY ALL
