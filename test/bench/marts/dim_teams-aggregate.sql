SELECT organization_name, count(*) AS teams, sum(members) AS members FROM marts.dim_teams GROUP BY ALL ORDER BY ALL
