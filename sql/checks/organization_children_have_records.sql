-- A row of a child table belongs to an organization, or a team, that is there, and has its number.
SELECT 'organization_members' AS child, workspace_id, organization_id AS id, _record FROM organization_members
  ANTI JOIN organizations USING (workspace_id, organization_id, _record)
UNION ALL
SELECT 'organization_agents' AS child, workspace_id, organization_id AS id, _record FROM organization_agents
  ANTI JOIN organizations USING (workspace_id, organization_id, _record)
UNION ALL
SELECT 'team_members' AS child, workspace_id, team_id AS id, _record FROM team_members
  ANTI JOIN teams USING (workspace_id, team_id, _record);
