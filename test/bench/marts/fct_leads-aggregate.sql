-- The pipeline, by stage and currency.
SELECT lead_stage, lead_currency, count(*) AS leads, sum(lead_value) AS value FROM marts.fct_leads WHERE is_counted GROUP BY ALL ORDER BY ALL
