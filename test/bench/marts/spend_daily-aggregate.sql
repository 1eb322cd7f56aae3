-- Costs by month, and for each conversation.
SELECT c.month_begin, sum(s.credits) AS credits, sum(s.tokens_usd) AS usd, sum(s.lifetime_credits) / nullif(sum(s.conversations), 0) AS for_each
FROM marts.spend_daily s JOIN marts.dim_calendar c USING (workspace_id, day) GROUP BY ALL ORDER BY ALL
