-- dim_organizations: one row for each organization whose id is known.
-- Grain: workspace_id, organization_id
-- Refresh: whole
-- Built from: organizations, teams
-- Use: names beside the organization_id of handoffs, waits, teams and bridge_agent_organizations. Organizations that are gone keep their row.
-- Example:
-- SELECT organization_name, agents, teams, members FROM marts.dim_organizations WHERE is_listed ORDER BY ALL;
-- Columns:
--   workspace_id       VARCHAR      none  Workspace
--   organization_id    VARCHAR      none  Organization
--   organization_name  VARCHAR      none  Name, else its id
--   kind               VARCHAR      word  Kind, e.g. client; `unknown` if none is stated
--   created_at         TIMESTAMPTZ  none  When it was created
--   is_listed          BOOLEAN      none  The vendor still has it
--   agents             BIGINT       none  Agents that are assigned to it now
--   members            BIGINT       none  Its members
--   teams              BIGINT       none  Its teams that the vendor lists
WITH assigned AS (SELECT workspace_id, organization_id, count(DISTINCT agent_id) AS agents FROM organization_agents GROUP BY ALL),
joined AS (SELECT workspace_id, organization_id, count(DISTINCT user_id) AS members FROM organization_members GROUP BY ALL),
owned AS (SELECT workspace_id, organization_id, count(*) AS teams FROM teams WHERE _missing_since IS NULL GROUP BY ALL),
known AS (
  SELECT workspace_id, organization_id FROM organizations
  UNION SELECT workspace_id, organization_id FROM teams WHERE trim(organization_id) <> ''
)
SELECT
  workspace_id, organization_id, coalesce(or_null(o.name), organization_id) AS organization_name, or_unknown(o.type) AS kind, o.ts AS created_at,
  o._missing_since IS NULL AND o._deleted_at IS NULL AS is_listed,
  CASE WHEN is_listed THEN coalesce(a.agents, 0) ELSE 0 END AS agents, coalesce(m.members, 0) AS members, coalesce(t.teams, 0) AS teams
FROM known
LEFT JOIN organizations o USING (workspace_id, organization_id)
LEFT JOIN assigned a USING (workspace_id, organization_id)
LEFT JOIN joined m USING (workspace_id, organization_id)
LEFT JOIN owned t USING (workspace_id, organization_id)
