-- crm_activities_open: one row for each CRM activity that is not completed.
-- Grain: workspace_id, agent_id, conversation_id, position
-- Month: day
-- Refresh: conversations
-- Built from: conversations, marts.dim_agents, marts.dim_people
-- Rows of: crm_activities
-- Joins: assignee_id = dim_people.user_id
-- Shared: assignee_name
-- Use: open tasks for contacts, by due day and by person. An activity that does not say whether it is completed is open. Nothing here depends on today:
-- overdue are rows with a `due_day` before it. An activity leaves the table when an export or an event reports it as completed.
-- Example:
-- SELECT assignee_name, count(*) AS activities, count(*) FILTER (due_day < '2026-11-24') AS overdue
-- FROM marts.crm_activities_open WHERE is_counted GROUP BY assignee_name ORDER BY overdue DESC;
-- Columns:
--   workspace_id       VARCHAR      none      Workspace
--   agent_id           VARCHAR      none      Agent
--   conversation_id    VARCHAR      none      Conversation
--   position           INTEGER      none      Number of the activity in its conversation, from 1
--   agent_title        VARCHAR      none      Title of the agent
--   channel            VARCHAR      none      Channel of the conversation; `unknown` if none was reported
--   day                DATE         none      Day on which the conversation began, in the workspace's time zone
--   is_counted         BOOLEAN      none      The conversation counts in aggregates
--   activity_id        VARCHAR      none      Id of the activity
--   activity_type      VARCHAR      word      Kind of activity, e.g. Message; `unknown` if none is stated
--   title              VARCHAR      content   Title
--   note               VARCHAR      content   Note
--   activity_at        TIMESTAMPTZ  none      Date of the activity
--   due_at             TIMESTAMPTZ  none      When it is due
--   due_day            DATE         none      Day on which it is due: of a time with an offset in the workspace's time zone, of a date as sent
--   has_responded      BOOLEAN      none      The contact has responded
--   contact_name       VARCHAR      identity  Name of the contact
--   lead_stage         VARCHAR      label     Stage of the lead; `unknown` if none is stated
--   lead_value         DOUBLE       none      Value of the lead, in `lead_currency`
--   lead_currency      VARCHAR      none      Currency in upper case; `unknown` if none is stated
--   expected_close_at  TIMESTAMPTZ  none      Expected close of the lead
--   last_activity_at   TIMESTAMPTZ  none      Last message of the conversation
--   assignee_id        VARCHAR      staff     Current assignee of the conversation
--   assignee_name      VARCHAR      staff     Name of the assignee
SELECT
  c.workspace_id, c.agent_id, c.conversation_id, a.position, d.agent_title, or_unknown(c.channel) AS channel, c.day,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  or_null(a.activity_id) AS activity_id, or_unknown(a.type) AS activity_type, or_null(a.title) AS title, or_null(a.note) AS note,
  a.activity_at, a.due_at,
  -- A date without a time is not converted: in another zone it would become the day before.
  CASE WHEN is_date(a.due_date) THEN try_cast(trim(a.due_date) AS DATE) ELSE local_day(a.due_at, w.time_zone) END AS due_day,
  coalesce(a.responded, false) AS has_responded, or_null(c.user_name) AS contact_name,
  or_unknown(c.stage) AS lead_stage, c.value AS lead_value, or_currency(c.currency) AS lead_currency,
  c.expected_close_at, c.last_message_ts AS last_activity_at,
  assignee_of(c.chat_assigned_to, c.assigned_to_user_id) AS assignee_id, p.name AS assignee_name
FROM scoped('crm_activities') a
JOIN scoped('conversations') c USING (_record)
LEFT JOIN _workspaces w ON w.workspace_id = c.workspace_id
LEFT JOIN marts.dim_agents d ON d.workspace_id = c.workspace_id AND d.agent_id = c.agent_id
LEFT JOIN marts.dim_people p ON p.workspace_id = c.workspace_id AND p.user_id = assignee_of(c.chat_assigned_to, c.assigned_to_user_id)
WHERE a.completed IS NOT TRUE
