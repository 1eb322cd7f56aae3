-- Cost of each model by month.
SELECT c.month_begin, t.model_id, sum(t.tokens) AS tokens, sum(t.tokens_usd) AS usd
FROM marts.token_usage_daily t JOIN marts.dim_calendar c USING (workspace_id, day)
GROUP BY ALL ORDER BY ALL
