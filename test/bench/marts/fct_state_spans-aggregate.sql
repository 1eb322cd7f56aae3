-- Time in each state, over all time.
SELECT state, count(*) AS spans, avg(seconds) AS average, sum(observed_seconds) AS observed FROM marts.fct_state_spans WHERE is_counted GROUP BY ALL ORDER BY ALL
