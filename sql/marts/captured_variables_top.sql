-- captured_variables_top: one row for each of the 20 most frequent values of a variable that an agent captured in the conversations of a day, and one for all others.
-- Grain: workspace_id, agent_id, variable, day, value_rank
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Built from: conversations, marts.fct_conversations, marts.dim_agents
-- Rows of: conversation_captured_variables
-- Use: which values contacts give most often. Only conversations that count (`is_counted`), on the day on which they began. For the top of a longer time
-- add `conversations` up by `variable` and `value_text`: it is exact while a variable has at most 20 values a day, as choices have. Names, numbers and free
-- texts have more: `is_rest` says how many conversations have another value. Values of the same day are ranked by their conversations, then by their text.
-- Example:
-- SELECT variable, value_text, sum(conversations) AS conversations FROM marts.captured_variables_top
-- WHERE NOT is_rest GROUP BY variable, value_text ORDER BY variable, conversations DESC, value_text LIMIT 100;
-- -- How much of a variable the values that are shown cover.
-- SELECT variable, sum(conversations) FILTER (NOT is_rest) / sum(conversations) AS covered FROM marts.captured_variables_top GROUP BY variable;
-- Columns:
--   workspace_id   VARCHAR  none     Workspace
--   agent_id       VARCHAR  none     Agent
--   variable       VARCHAR  label    Name of the variable
--   day            DATE     none     Day on which the conversations began, in the workspace's time zone
--   value_rank     INTEGER  none     1 to 20 by conversations; 21: all other values
--   agent_title    VARCHAR  none     Title of the agent
--   value_text     VARCHAR  content  The value as text, at most its first 200 characters; NULL for all others
--   is_rest        BOOLEAN  none     The row has all other values
--   conversations  BIGINT   none     Conversations with the value
--   values_shown   BIGINT   none     Values in the row: 1, or those of the rest
WITH counted AS (
  SELECT _record, workspace_id, agent_id, day
  FROM in_groups('conversations') WHERE is_counted(_complete, is_test, day)
),
by_value AS (
  SELECT c.workspace_id, c.agent_id, v.name AS variable, c.day, left(v.value_text, 200) AS value_text, count(*) AS conversations
  FROM counted c JOIN conversation_captured_variables v USING (_record) WHERE trim(v.name) <> '' AND trim(v.value_text) <> '' GROUP BY ALL
),
ranked AS (
  SELECT *, least(row_number() OVER (PARTITION BY workspace_id, agent_id, variable, day ORDER BY conversations DESC, value_text), 21)::INTEGER AS value_rank
  FROM by_value
)
SELECT
  workspace_id, agent_id, variable, day, value_rank, any_value(d.agent_title) AS agent_title, any_value(value_text) FILTER (value_rank <= 20) AS value_text,
  value_rank > 20 AS is_rest, sum(conversations)::BIGINT AS conversations, count(*) AS values_shown
FROM ranked LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id) GROUP BY ALL
