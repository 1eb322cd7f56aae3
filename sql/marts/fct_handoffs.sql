-- fct_handoffs: one row for each handoff of a conversation to people, however many teams it went to.
-- Grain: workspace_id, agent_id, conversation_id, position
-- Month: day
-- Refresh: conversations
-- Built from: conversations, organizations, marts.dim_agents, marts.dim_people, marts.dim_teams
-- Rows of: conversation_handoffs
-- Joins: accepted_by = dim_people.user_id, requested_team_id = dim_teams.team_id
-- Shared: accepted_by_name, organization_name, requested_team_id, requested_team_label, team_ids, team_labels
-- Use: waiting times, and the share of handoffs that a person accepted, by day, team or person. `count(*)` counts handoffs. A handoff to several
-- teams has them beside it in `team_ids` and `team_labels`: for figures by team, join conversation_handoff_team_ids, and do not add these up, since a
-- handoff counts for each of its teams.
-- Example:
-- SELECT accepted_by_name, count(*) AS handoffs, avg(wait_seconds) AS average_wait, max(wait_seconds) AS longest_wait
-- FROM marts.fct_handoffs WHERE is_counted AND is_accepted GROUP BY accepted_by_name;
-- SELECT t.team_label, count(*) AS handoffs
-- FROM marts.fct_handoffs h
-- JOIN conversation_handoff_team_ids b ON b.workspace_id = h.workspace_id AND b.agent_id = h.agent_id
--   AND b.conversation_id = h.conversation_id AND b.handoff_position = h.position
-- JOIN marts.dim_teams t ON t.workspace_id = b.workspace_id AND t.team_id = b.team_id
-- WHERE h.is_counted GROUP BY t.team_label;
-- Columns:
--   workspace_id          VARCHAR      none   Workspace
--   agent_id              VARCHAR      none   Agent
--   conversation_id       VARCHAR      none   Conversation
--   position              INTEGER      none   Number of the handoff in its conversation, from 1
--   agent_title           VARCHAR      none   Title of the agent
--   channel               VARCHAR      none   Channel of the conversation; `unknown` if none was reported
--   day                   DATE         none   Day of the request in the workspace's time zone, else of the conversation
--   local_hour            BIGINT       none   Hour of the request in the workspace's time zone, 0 to 23
--   weekday               BIGINT       none   Day of the week of `day`, 1 (Monday) to 7 (Sunday)
--   is_counted            BOOLEAN      none   The conversation counts in aggregates
--   requested_at          TIMESTAMPTZ  none   When a person was requested
--   accepted_at           TIMESTAMPTZ  none   When somebody accepted it
--   completed_at          TIMESTAMPTZ  none   When it ended
--   is_accepted           BOOLEAN      none   Somebody accepted it
--   wait_seconds          DOUBLE       none   From the request to the acceptance; NULL if a time is missing, if `is_reversed`, and beyond ten years
--   handling_seconds      DOUBLE       none   From the acceptance to the end, likewise
--   is_reversed           BOOLEAN      none   It was accepted before the request, or ended before the acceptance, as the vendor reports it
--   accepted_by           VARCHAR      staff  Who accepted it
--   accepted_by_name      VARCHAR      staff  Name of who accepted it
--   organization_id       VARCHAR      none   Organization that it went to
--   organization_name     VARCHAR      none   Name of the organization, else its id
--   requested_team_key    VARCHAR      none   Key of the team that was asked for
--   requested_team_id     VARCHAR      none   Id of that team, where the key is known
--   requested_team_label  VARCHAR      none   Name of that team, else its key
--   teams                 BIGINT       none   Teams that it went to
--   team_ids              VARCHAR      none   Ids of these teams, separated by commas, in the order of the names; a key without a known team has none
--   team_labels           VARCHAR      none   Names of these teams in alphabetical order, separated by commas
WITH handed AS (
  SELECT *, or_null(requested_team_key) AS requested_key, is_reversed(requested_at, accepted_at) OR is_reversed(accepted_at, completed_at) AS is_reversed
  FROM scoped('conversation_handoffs')
),
-- Two teams of an organization may have had the same key.
by_key AS (
  SELECT workspace_id, organization_id, team_key, min({is_gone: NOT is_listed, team_id: team_id}).team_id AS team_id
  FROM marts.dim_teams WHERE trim(team_key) <> '' GROUP BY ALL
),
-- For handoffs without an organization: keys that one organization alone has.
by_key_alone AS (
  SELECT workspace_id, team_key, any_value(team_id) AS team_id FROM by_key GROUP BY ALL HAVING count(*) = 1
),
by_ids AS (
  SELECT DISTINCT workspace_id, agent_id, conversation_id, handoff_position AS position, team_id
  FROM scoped('conversation_handoff_team_ids') WHERE trim(team_id) <> ''
),
by_keys AS (
  SELECT DISTINCT k.workspace_id, k.agent_id, k.conversation_id, k.handoff_position AS position, k.team_key, b.team_id
  FROM scoped('conversation_handoff_team_keys') k
  JOIN handed h ON h.workspace_id = k.workspace_id AND h.agent_id = k.agent_id AND h.conversation_id = k.conversation_id
    AND h.position = k.handoff_position
  LEFT JOIN by_key b ON b.workspace_id = k.workspace_id AND b.organization_id = h.organization_id AND b.team_key = k.team_key
  WHERE trim(k.team_key) <> ''
),
-- Ids and keys may name the same teams. A key without a known team counts only if no team is named by id.
went_to AS (
  SELECT workspace_id, agent_id, conversation_id, position, team_id, coalesce(t.team_label, team_id) AS team_label
  FROM (FROM by_ids UNION SELECT workspace_id, agent_id, conversation_id, position, team_id FROM by_keys WHERE team_id IS NOT NULL)
  LEFT JOIN marts.dim_teams t USING (workspace_id, team_id)
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, position, NULL, team_key
  FROM (FROM by_keys WHERE team_id IS NULL) ANTI JOIN by_ids USING (workspace_id, agent_id, conversation_id, position)
),
handoff_teams AS (
  SELECT workspace_id, agent_id, conversation_id, position, count(*) AS teams,
    string_agg(team_id, ', ' ORDER BY team_label, team_id) AS team_ids, string_agg(team_label, ', ' ORDER BY team_label, team_id) AS team_labels
  FROM went_to GROUP BY ALL
)
SELECT
  h.workspace_id, h.agent_id, h.conversation_id, h.position, d.agent_title,
  or_unknown(c.channel) AS channel,
  coalesce(local_day(h.requested_at, w.time_zone), c.day) AS day, local_hour(h.requested_at, w.time_zone) AS local_hour,
  isodow(coalesce(local_day(h.requested_at, w.time_zone), c.day)) AS weekday,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  h.requested_at, h.accepted_at, h.completed_at, h.accepted_at IS NOT NULL AS is_accepted,
  CASE WHEN NOT h.is_reversed THEN seconds_between(h.requested_at, h.accepted_at) END AS wait_seconds,
  CASE WHEN NOT h.is_reversed THEN seconds_between(h.accepted_at, h.completed_at) END AS handling_seconds,
  h.is_reversed,
  or_null(h.accepted_by) AS accepted_by, p.name AS accepted_by_name,
  or_null(h.organization_id) AS organization_id, coalesce(or_null(o.name), or_null(h.organization_id)) AS organization_name,
  h.requested_key AS requested_team_key, coalesce(b.team_id, a.team_id) AS requested_team_id, coalesce(rt.team_label, h.requested_key) AS requested_team_label,
  coalesce(t.teams, 0) AS teams, t.team_ids, t.team_labels
FROM handed h
JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
LEFT JOIN handoff_teams t ON t.workspace_id = h.workspace_id AND t.agent_id = h.agent_id AND t.conversation_id = h.conversation_id
  AND t.position = h.position
LEFT JOIN by_key b ON b.workspace_id = h.workspace_id AND b.organization_id = h.organization_id AND b.team_key = h.requested_key
LEFT JOIN by_key_alone a ON a.workspace_id = h.workspace_id AND a.team_key = h.requested_key AND or_null(h.organization_id) IS NULL
LEFT JOIN marts.dim_teams rt ON rt.workspace_id = h.workspace_id AND rt.team_id = coalesce(b.team_id, a.team_id)
LEFT JOIN organizations o ON o.workspace_id = h.workspace_id AND o.organization_id = h.organization_id
LEFT JOIN _workspaces w ON w.workspace_id = h.workspace_id
LEFT JOIN marts.dim_agents d ON d.workspace_id = h.workspace_id AND d.agent_id = h.agent_id
LEFT JOIN marts.dim_people p ON p.workspace_id = h.workspace_id AND p.user_id = h.accepted_by
