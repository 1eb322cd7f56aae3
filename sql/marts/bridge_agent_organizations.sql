-- bridge_agent_organizations: one row for each agent, organization and month in which they belong together: by assignment, or by a handoff of the agent.
-- Grain: workspace_id, agent_id, organization_id, month_begin
-- Month: month_begin
-- Refresh: whole
-- Built from: organizations, agents, marts.dim_agents, marts.dim_calendar, marts.dim_organizations, marts.fct_handoffs
-- Shared: organizations
-- Use: figures of agents by organization and month. The vendor reports present assignments without their history: they are in every month since both the agent
-- and the organization exist, so a past month shows who has the agent now. What really happened in a month is `handoffs`. Figures of an agent of several
-- organizations count for each of them: `organizations` says of how many.
-- Example:
-- SELECT b.organization_name, b.month_begin, sum(d.conversations) AS conversations, sum(d.ever_resolved) AS ever_resolved
-- FROM marts.bridge_agent_organizations b JOIN marts.dim_calendar c USING (workspace_id, month_begin)
-- JOIN marts.conversations_daily d ON d.workspace_id = b.workspace_id AND d.agent_id = b.agent_id AND d.day = c.day
-- WHERE b.is_assigned GROUP BY ALL ORDER BY ALL;
-- Columns:
--   workspace_id       VARCHAR  none  Workspace
--   agent_id           VARCHAR  none  Agent
--   organization_id    VARCHAR  none  Organization
--   month_begin        DATE     none  First day of the month, in the workspace's time zone
--   agent_title        VARCHAR  none  Title of the agent
--   organization_name  VARCHAR  none  Name of the organization, else its id
--   is_assigned        BOOLEAN  none  The agent is assigned to it now
--   organizations      BIGINT   none  Organizations with `is_assigned` that the agent has in the month
--   handoffs           BIGINT   none  Handoffs of the agent to the organization that were requested in the month, of conversations that count
WITH months AS (SELECT DISTINCT workspace_id, month_begin, time_zone FROM marts.dim_calendar),
assigned AS (
  SELECT DISTINCT a.workspace_id, a.agent_id, a.organization_id, m.month_begin
  FROM organization_agents a
  JOIN marts.dim_organizations o USING (workspace_id, organization_id)
  JOIN months m USING (workspace_id)
  LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
  WHERE o.is_listed AND coalesce(local_day(greatest(o.created_at, d.created_at), m.time_zone) < m.month_begin + INTERVAL 1 MONTH, true)
),
handed AS (
  SELECT h.workspace_id, h.agent_id, h.organization_id, m.month_begin, count(*) AS handoffs
  FROM marts.fct_handoffs h JOIN months m ON m.workspace_id = h.workspace_id AND m.month_begin = date_trunc('month', h.day)
  WHERE h.is_counted AND trim(h.organization_id) <> '' GROUP BY ALL
)
SELECT
  workspace_id, agent_id, organization_id, month_begin, d.agent_title, coalesce(o.organization_name, organization_id) AS organization_name,
  a.agent_id IS NOT NULL AS is_assigned, count(a.agent_id) OVER (PARTITION BY workspace_id, agent_id, month_begin) AS organizations,
  coalesce(h.handoffs, 0) AS handoffs
FROM assigned a FULL JOIN handed h USING (workspace_id, agent_id, organization_id, month_begin)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
LEFT JOIN marts.dim_organizations o USING (workspace_id, organization_id)
