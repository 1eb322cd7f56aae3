SELECT * FROM marts.dim_agents WHERE is_listed ORDER BY agent_title LIMIT 1000
