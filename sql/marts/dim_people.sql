-- dim_people: one row for each person who handles conversations: assignees, members of teams and organizations, and who resolved or delegated.
-- Grain: workspace_id, user_id
-- Refresh: whole
-- Built from: _people, chat_delegations, bug_reports, organizations, teams
-- Use: names beside the ids of people. The name and the address are those of the newest record that has one.
-- Example:
-- SELECT p.team_labels, count(*) AS resolved
-- FROM marts.fct_conversations c JOIN marts.dim_people p ON p.workspace_id = c.workspace_id AND p.user_id = c.resolved_by
-- WHERE c.is_counted GROUP BY p.team_labels;
-- Columns:
--   workspace_id        VARCHAR  none   Workspace
--   user_id             VARCHAR  staff  Person
--   name                VARCHAR  staff  Name; NULL if no record has one
--   email               VARCHAR  staff  Email address; NULL if no record has one
--   teams               BIGINT   none   Teams that the person is a member of
--   team_labels         VARCHAR  none   Their names in alphabetical order, separated by commas
--   organizations       BIGINT   none   Organizations that the person is a member of
--   organization_names  VARCHAR  none   Their names in alphabetical order, separated by commas
WITH named AS (
  -- People that conversations name, updated after each change (sql/refresh/people_in_conversations.sql).
  SELECT workspace_id, user_id, CASE kind WHEN 'name' THEN text END AS name, CASE kind WHEN 'email' THEN text END AS email, seen_at FROM _people
  UNION ALL
  SELECT workspace_id, assigned_to_user_id, assigned_to_user_name, assigned_to_user_email, _version FROM chat_delegations
  UNION ALL
  SELECT workspace_id, delegated_by_user_id, delegated_by_user_name, NULL, _version FROM chat_delegations
  UNION ALL
  SELECT workspace_id, reported_by_user_id, reported_by_user_name, reported_by_user_email, _version FROM bug_reports
  UNION ALL
  SELECT workspace_id, user_id, NULL, NULL, NULL FROM organization_members
  UNION ALL
  SELECT workspace_id, user_id, NULL, NULL, NULL FROM team_members
),
newest AS (
  SELECT workspace_id, user_id, name, email, max(seen_at) AS seen_at FROM named WHERE trim(user_id) <> '' GROUP BY ALL
),
people AS (
  SELECT workspace_id, user_id,
    -- The text decides between records of the same time.
    (max({seen_at: seen_at, text: name}) FILTER (name IS NOT NULL)).text AS name,
    (max({seen_at: seen_at, text: email}) FILTER (email IS NOT NULL)).text AS email
  FROM newest GROUP BY ALL
),
in_teams AS (
  SELECT m.workspace_id, m.user_id, count(DISTINCT t.team_id) AS teams, string_agg(DISTINCT t.label, ', ' ORDER BY t.label) AS team_labels
  FROM team_members m JOIN teams t USING (workspace_id, team_id) GROUP BY ALL
),
in_organizations AS (
  SELECT m.workspace_id, m.user_id, count(DISTINCT o.organization_id) AS organizations, string_agg(DISTINCT o.name, ', ' ORDER BY o.name) AS organization_names
  FROM organization_members m JOIN organizations o USING (workspace_id, organization_id) GROUP BY ALL
)
SELECT workspace_id, user_id, name, email, coalesce(teams, 0) AS teams, team_labels, coalesce(organizations, 0) AS organizations,
  organization_names
FROM people LEFT JOIN in_teams USING (workspace_id, user_id) LEFT JOIN in_organizations USING (workspace_id, user_id)
