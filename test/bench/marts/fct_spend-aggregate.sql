-- Every cost by month.
SELECT date_trunc('month', day) AS month, sum(tokens_usd) AS usd, sum(credits) AS credits, sum(llm_cost) AS llm, sum(call_cost) AS calls
FROM marts.fct_spend WHERE is_counted GROUP BY ALL ORDER BY ALL
