-- fct_leads: one row for each conversation whose contact is a lead: with a stage or a value.
-- Grain: workspace_id, agent_id, conversation_id
-- Month: day
-- Refresh: conversations
-- Built from: conversations, marts.dim_agents, marts.dim_people
-- Joins: assignee_id = dim_people.user_id
-- Shared: assignee_name
-- Use: the pipeline by stage. Values have currencies, and the vendor states none for some: always group by `lead_currency`, in which these are
-- `unknown`, and never add values of different currencies. Stage and value are those of now; earlier stages are in conversation_changes. The
-- table `leads` is something else: the events in which a contact left a name or an address.
-- Example:
-- SELECT lead_stage, lead_currency, count(*) AS leads, sum(lead_value) AS value
-- FROM marts.fct_leads WHERE is_counted GROUP BY lead_stage, lead_currency;
-- Columns:
--   workspace_id       VARCHAR      none     Workspace
--   agent_id           VARCHAR      none     Agent
--   conversation_id    VARCHAR      none     Conversation
--   agent_title        VARCHAR      none     Title of the agent
--   channel            VARCHAR      none     Channel of the conversation; `unknown` if none was reported
--   day                DATE         none     Day on which the conversation began, in the workspace's time zone
--   is_counted         BOOLEAN      none     The conversation counts in aggregates
--   lead_stage         VARCHAR      label    Stage; `unknown` if only a value is known
--   lead_value         DOUBLE       none     Value, in `lead_currency`
--   lead_currency      VARCHAR      none     Currency in upper case; `unknown` if none is stated
--   lead_score         DOUBLE       none     Score
--   hot_score          DOUBLE       none     How hot the lead is, as a number
--   lead_temperature   VARCHAR      word     How hot the lead is, in a word
--   lead_source        VARCHAR      word     Where the lead came from
--   lost_reason        VARCHAR      content  Why it was lost
--   expected_close_at  TIMESTAMPTZ  none     Expected close
--   last_activity_at   TIMESTAMPTZ  none     Last message of the conversation
--   assignee_id        VARCHAR      staff    Current assignee of the conversation
--   assignee_name      VARCHAR      staff    Name of the assignee
WITH known AS (
  SELECT *, or_unknown(stage) AS lead_stage, assignee_of(chat_assigned_to, assigned_to_user_id) AS assignee
  FROM scoped('conversations') WHERE is_lead(stage, value)
)
SELECT
  workspace_id, agent_id, conversation_id, d.agent_title, or_unknown(c.channel) AS channel, c.day,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  c.lead_stage, c.value AS lead_value, or_currency(c.currency) AS lead_currency,
  c.lead_score, c.hot_score, or_unknown(c.hot_label) AS lead_temperature, or_unknown(c.source) AS lead_source, c.lost_reason, c.expected_close_at,
  c.last_message_ts AS last_activity_at, c.assignee AS assignee_id, p.name AS assignee_name
FROM known c
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
LEFT JOIN marts.dim_people p ON p.workspace_id = c.workspace_id AND p.user_id = c.assignee
