-- fct_agent_changes: one row for each change of a field of an agent, with its values before and after, as the agent's audit log reports it.
-- Grain: workspace_id, agent_id, entry_id
-- Month: day
-- Refresh: whole
-- Built from: audit_log, marts.dim_agents, marts.dim_people
-- Joins: actor_id = dim_people.user_id
-- Shared: actor_name
-- Use: which changes of an agent precede a change of its figures. Values are dropped in targets unless they keep `content`, and those that may be secret are
-- never stored. Figures after a change need not follow from it: compare several days, and other agents.
-- Example:
-- SELECT c.agent_title, c.day, c.fields,
--   sum(d.ever_resolved) FILTER (d.day < c.day) / nullif(sum(d.conversations) FILTER (d.day < c.day), 0) AS resolved_before,
--   sum(d.ever_resolved) FILTER (d.day > c.day) / nullif(sum(d.conversations) FILTER (d.day > c.day), 0) AS resolved_after
-- FROM (SELECT workspace_id, agent_id, agent_title, day, string_agg(DISTINCT field, ', ' ORDER BY field) AS fields FROM marts.fct_agent_changes GROUP BY ALL) c
-- JOIN marts.conversations_daily d ON d.workspace_id = c.workspace_id AND d.agent_id = c.agent_id AND d.day BETWEEN c.day - 14 AND c.day + 14
-- GROUP BY ALL ORDER BY c.agent_title, c.day;
-- Columns:
--   workspace_id  VARCHAR      none     Workspace
--   agent_id      VARCHAR      none     Agent
--   entry_id      VARCHAR      none     Entry of the audit log
--   agent_title   VARCHAR      none     Title of the agent
--   changed_at    TIMESTAMPTZ  none     When the field changed
--   day           DATE         none     Day of the change in the workspace's time zone
--   field         VARCHAR      label    First part of the field's path, e.g. nodes
--   field_path    VARCHAR      label    Path of the field, with ids of nodes in brackets
--   value_before  VARCHAR      content  Value before the change; NULL if there was none, or if it may be secret
--   value_after   VARCHAR      content  Value after it, likewise
--   source        VARCHAR      word     What changed it, e.g. user_update or template_clone
--   actor_id      VARCHAR      staff    Who changed it
--   actor_name    VARCHAR      staff    Name of that person, if it is known
SELECT
  workspace_id, agent_id, l.entry_id, d.agent_title, l.changed_at, local_day(l.changed_at, w.time_zone) AS day,
  or_unknown(regexp_extract(l.field_path, '^[^.\[]+')) AS field, or_unknown(l.field_path) AS field_path, l.old_value AS value_before, l.new_value AS value_after,
  or_unknown(l.source) AS source, or_null(l.actor) AS actor_id, p.name AS actor_name
FROM audit_log l
LEFT JOIN _workspaces w USING (workspace_id)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
LEFT JOIN marts.dim_people p ON p.workspace_id = l.workspace_id AND p.user_id = l.actor
