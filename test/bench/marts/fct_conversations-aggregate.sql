-- Handling by agent and channel, over all time.
SELECT agent_title, channel, count(*) AS conversations, count(*) FILTER (was_resolved) AS resolved, sum(handoffs) AS handoffs,
  avg(seconds_to_first_resolution) AS seconds_to_resolution, sum(tokens_usd) AS usd
FROM marts.fct_conversations WHERE is_counted GROUP BY ALL ORDER BY ALL
