SELECT a.organization_names, sum(d.conversations) AS conversations
FROM marts.dim_agents a LEFT JOIN marts.conversations_daily d USING (workspace_id, agent_id) GROUP BY ALL ORDER BY ALL
