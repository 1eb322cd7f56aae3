-- dim_teams: one row for each team of an organization.
-- Grain: workspace_id, team_id
-- Refresh: whole
-- Built from: teams, organizations
-- Use: names beside the ids and keys of teams. Teams that the vendor no longer lists keep their row. The members by name: `team_members` joined with
-- dim_people.
-- Example:
-- SELECT organization_name, team_label, members FROM marts.dim_teams WHERE is_listed ORDER BY ALL;
-- Columns:
--   workspace_id       VARCHAR      none  Workspace
--   team_id            VARCHAR      none  Team
--   team_key           VARCHAR      none  Key, as handoffs name it
--   team_label         VARCHAR      none  Name, else its key or id
--   organization_id    VARCHAR      none  Organization that it belongs to
--   organization_name  VARCHAR      none  Name of the organization, else its id
--   members            BIGINT       none  Members
--   created_at         TIMESTAMPTZ  none  When it was created
--   is_listed          BOOLEAN      none  The vendor lists it
WITH member_counts AS (
  SELECT workspace_id, team_id, count(DISTINCT user_id) AS members FROM team_members GROUP BY ALL
)
SELECT
  workspace_id, team_id, or_null(t.team_key) AS team_key,
  coalesce(or_null(t.label), or_null(t.team_key), team_id) AS team_label,
  t.organization_id, coalesce(or_null(o.name), t.organization_id) AS organization_name,
  coalesce(m.members, 0) AS members, t.ts AS created_at,
  t._missing_since IS NULL AS is_listed
FROM teams t
LEFT JOIN member_counts m USING (workspace_id, team_id)
LEFT JOIN organizations o USING (workspace_id, organization_id)
