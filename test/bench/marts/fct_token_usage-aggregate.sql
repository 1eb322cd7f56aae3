-- Tokens by model.
SELECT model_id, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(tokens_usd) AS usd FROM marts.fct_token_usage WHERE is_counted GROUP BY ALL ORDER BY ALL
