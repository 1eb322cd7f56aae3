-- pipeline_daily: one row for each agent, channel, lead stage, currency and day with a lead.
-- Grain: workspace_id, agent_id, channel, lead_stage, lead_currency, day
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Built from: marts.fct_leads
-- Use: the pipeline by stage. Only conversations that count (`is_counted`), on the day on which they began, with the stage and the value of now. Values of
-- different currencies are never added up: always group by `lead_currency`, in which values without a stated currency are `unknown`. Numbers of leads may
-- be added up across currencies.
-- Example:
-- SELECT lead_stage, lead_currency, sum(leads) AS leads, sum(lead_value_sum) AS value FROM marts.pipeline_daily GROUP BY lead_stage, lead_currency;
-- Columns:
--   workspace_id    VARCHAR  none   Workspace
--   agent_id        VARCHAR  none   Agent
--   channel         VARCHAR  none   Channel; `unknown` if none was reported
--   lead_stage      VARCHAR  label  Stage; `unknown` if only a value is known
--   lead_currency   VARCHAR  none   Currency in upper case; `unknown` if none is stated
--   day             DATE     none   Day on which the conversations began, in the workspace's time zone
--   agent_title     VARCHAR  none   Title of the agent
--   leads           BIGINT   none   Leads
--   valued          BIGINT   none   Leads with a value
--   lead_value_sum  DOUBLE   none   Sum of these values, in `lead_currency`
--   scored          BIGINT   none   Leads with a score
--   lead_score_sum  DOUBLE   none   Sum of these scores
SELECT
  workspace_id, agent_id, channel, lead_stage, lead_currency, day, any_value(agent_title) AS agent_title,
  count(*) AS leads, count(lead_value) AS valued, coalesce(fsum(lead_value), 0) AS lead_value_sum,
  count(lead_score) AS scored, coalesce(fsum(lead_score), 0) AS lead_score_sum
FROM in_groups('marts.fct_leads') WHERE is_counted GROUP BY workspace_id, agent_id, channel, lead_stage, lead_currency, day
