SELECT team_labels, count(*) AS people FROM marts.dim_people GROUP BY ALL ORDER BY ALL
