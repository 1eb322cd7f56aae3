-- The pipeline, by stage and currency.
SELECT lead_stage, lead_currency, sum(leads) AS leads, sum(lead_value_sum) AS value FROM marts.pipeline_daily GROUP BY ALL ORDER BY ALL
