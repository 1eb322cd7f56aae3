SELECT * FROM marts.dim_calendar WHERE day >= $month::DATE ORDER BY day LIMIT 1000
