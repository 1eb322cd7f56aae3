SELECT * FROM marts.dim_teams WHERE is_listed ORDER BY team_label LIMIT 1000
