-- people_daily: one row for each agent, person and day with a conversation, resolution or handoff that the person handled.
-- Grain: workspace_id, agent_id, user_id, day
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Published by: workspace_id, agent_id, day
-- Built from: marts.fct_conversations, marts.fct_resolutions, marts.fct_handoffs, marts.dim_people
-- Shared: user_name
-- Use: what each person did. Only conversations that count (`is_counted`). `assigned` and `resolved` conversations belong to the day on which they began,
-- `resolutions` to the day of the resolution, and handoffs to the day of the request. A conversation may be assigned to one person and resolved by another: never add `assigned` and `resolved`. Averages
-- are quotients of sums: `sum(handoff_wait_seconds_sum) / nullif(sum(handoff_waits), 0)`.
-- Example:
-- SELECT user_name, sum(assigned) AS assigned, sum(resolved) AS resolved, sum(handoffs_accepted) AS handoffs,
--   sum(handoff_wait_seconds_sum) / nullif(sum(handoff_waits), 0) AS average_wait
-- FROM marts.people_daily WHERE day >= '2026-10-01' AND day < '2026-11-01' GROUP BY user_name ORDER BY handoffs DESC;
-- Columns:
--   workspace_id              VARCHAR  none   Workspace
--   agent_id                  VARCHAR  none   Agent
--   user_id                   VARCHAR  staff  Person
--   day                       DATE     none   Day in the workspace's time zone
--   agent_title               VARCHAR  none   Title of the agent
--   user_name                 VARCHAR  staff  Name of the person
--   assigned                  BIGINT   none   Conversations that began on the day and are assigned to the person now
--   assigned_resolved         BIGINT   none   Those that have ever been resolved
--   assigned_reopened         BIGINT   none   Those that have ever been reopened
--   csat_score_sum            DOUBLE   none   Sum of their satisfaction scores
--   csat_answers              BIGINT   none   Those with a score
--   resolved                  BIGINT   none   Conversations that began on the day and that the person resolved last
--   resolutions               BIGINT  none   Conversations of any day whose last resolution was on the day, by the person
--   handoffs_accepted         BIGINT   none   Handoffs requested on the day that the person accepted
--   handoff_waits             BIGINT   none   Those whose waiting time is known
--   handoff_wait_seconds_sum  DOUBLE   none   Sum of these waiting times
--   handoffs_reversed         BIGINT   none   Accepted handoffs with times in the wrong order, which are in no sum
--   handling_seconds_sum      DOUBLE   none   Sum of the times from the acceptance to the end
--   handoffs_completed        BIGINT   none   Accepted handoffs with such a time
WITH handled AS (
  SELECT workspace_id, agent_id, assignee_id AS user_id, day, any_value(agent_title) AS agent_title,
    count(*) AS assigned, count(*) FILTER (was_resolved) AS assigned_resolved, count(*) FILTER (was_reopened) AS assigned_reopened,
    fsum(csat_score) AS csat_score_sum, count(csat_score) AS csat_answers, 0 AS resolved, 0 AS resolutions,
    0 AS accepted, 0 AS waits, 0 AS reversed, NULL::DOUBLE AS waited, NULL::DOUBLE AS handling, 0 AS completed
  FROM in_groups('marts.fct_conversations') WHERE is_counted AND trim(assignee_id) <> '' GROUP BY workspace_id, agent_id, assignee_id, day
  UNION ALL
  SELECT workspace_id, agent_id, resolved_by, day, any_value(agent_title), 0, 0, 0, NULL, 0, count(*), 0, 0, 0, 0, NULL, NULL, 0
  FROM in_groups('marts.fct_conversations') WHERE is_counted AND trim(resolved_by) <> '' AND was_resolved GROUP BY workspace_id, agent_id, resolved_by, day
  UNION ALL
  SELECT workspace_id, agent_id, resolved_by, day, any_value(agent_title), 0, 0, 0, NULL, 0, 0, count(*), 0, 0, 0, NULL, NULL, 0
  FROM in_groups('marts.fct_resolutions') WHERE is_counted AND trim(resolved_by) <> '' GROUP BY workspace_id, agent_id, resolved_by, day
  UNION ALL
  SELECT workspace_id, agent_id, accepted_by, day, any_value(agent_title), 0, 0, 0, NULL, 0, 0, 0,
    count(*), count(wait_seconds), count(*) FILTER (is_reversed), fsum(wait_seconds), fsum(handling_seconds), count(handling_seconds)
  FROM in_groups('marts.fct_handoffs') WHERE is_counted AND is_accepted AND trim(accepted_by) <> '' GROUP BY workspace_id, agent_id, accepted_by, day
)
SELECT
  workspace_id, agent_id, user_id, day, any_value(agent_title) AS agent_title, any_value(p.name) AS user_name,
  sum(assigned)::BIGINT AS assigned, sum(assigned_resolved)::BIGINT AS assigned_resolved, sum(assigned_reopened)::BIGINT AS assigned_reopened,
  coalesce(fsum(csat_score_sum), 0) AS csat_score_sum, sum(csat_answers)::BIGINT AS csat_answers, sum(resolved)::BIGINT AS resolved,
  sum(resolutions)::BIGINT AS resolutions,
  sum(accepted)::BIGINT AS handoffs_accepted, sum(waits)::BIGINT AS handoff_waits, coalesce(fsum(waited), 0) AS handoff_wait_seconds_sum,
  sum(reversed)::BIGINT AS handoffs_reversed,
  coalesce(fsum(handling), 0) AS handling_seconds_sum, sum(completed)::BIGINT AS handoffs_completed
FROM handled LEFT JOIN marts.dim_people p USING (workspace_id, user_id)
GROUP BY workspace_id, agent_id, user_id, day
