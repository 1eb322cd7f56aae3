-- custom_metrics_daily: one row for each agent, channel, metric and day with its numbers, and one for each of the 20 most frequent texts of the metric, and for all others.
-- Grain: workspace_id, agent_id, channel, metric_id, day, value_rank
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Built from: conversations, custom_metrics, marts.fct_conversations, marts.dim_agents
-- Rows of: conversation_metrics
-- Use: custom metrics by day. Only conversations that count (`is_counted`), on the day on which they began. The type is the one that `custom_metrics`
-- declares, else that of the value. Metrics of the type number (also integer, float and decimal) have their numbers in the row with `value_rank` 0: an average is `sum(value_sum) /
-- sum(measurements)` over these. All other values, and values of a number's metric that are no numbers, are texts: each has a row with its number of
-- measurements. A metric that a conversation names by its key alone has the id that the agent's metric with this key has, else its key as id.
-- Example:
-- SELECT metric_key, sum(value_sum) / nullif(sum(measurements), 0) AS average, min(value_min) AS smallest, max(value_max) AS largest
-- FROM marts.custom_metrics_daily WHERE value_type = 'number' GROUP BY metric_key;
-- SELECT metric_key, value_text, sum(measurements) AS measurements FROM marts.custom_metrics_daily
-- WHERE value_type = 'text' AND NOT is_rest GROUP BY metric_key, value_text ORDER BY metric_key, measurements DESC, value_text;
-- Columns:
--   workspace_id   VARCHAR  none     Workspace
--   agent_id       VARCHAR  none     Agent
--   channel        VARCHAR  none     Channel; `unknown` if none was reported
--   metric_id      VARCHAR  label    Metric; `unknown` if a value has neither id nor key
--   day            DATE     none     Day on which the conversations began, in the workspace's time zone
--   value_rank     INTEGER  none     0: numbers; 1 to 20: texts, by measurements, then by text; 21: all other texts
--   agent_title    VARCHAR  none     Title of the agent
--   metric_key     VARCHAR  label    Key of the metric, as it is declared, else as conversations name it
--   declared_type  VARCHAR  word     Type of the metric, as it is declared; `unknown` if the metric is not known
--   value_type     VARCHAR  none     Type of the row's values: number or text
--   value_text     VARCHAR  content  The text, at most its first 200 characters; NULL for numbers and for all other texts
--   is_rest        BOOLEAN  none     The row has all other texts
--   conversations  BIGINT   none     Conversations with such a value; of the others, added up over their texts
--   measurements   BIGINT   none     Values
--   value_sum      DOUBLE   content  Sum of the numbers
--   value_min      DOUBLE   content  Smallest number
--   value_max      DOUBLE   content  Largest number
WITH counted AS (
  SELECT _record, workspace_id, agent_id, or_unknown(channel) AS channel, day
  FROM in_groups('conversations') WHERE is_counted(_complete, is_test, day)
),
by_key AS (
  -- A missing metric may have had the key of another one.
  SELECT workspace_id, agent_id, metric_key, min({is_gone: _missing_since IS NOT NULL, metric_id: metric_id}).metric_id AS metric_id
  FROM custom_metrics WHERE trim(metric_key) <> '' GROUP BY ALL
),
measured AS (
  SELECT c.*, coalesce(or_null(v.metric_id), k.metric_id, or_null(v.metric_key), 'unknown') AS metric_id, or_null(v.metric_key) AS sent_key,
    v.value_text, v.value_number
  FROM counted c JOIN conversation_metrics v USING (_record)
  LEFT JOIN by_key k ON k.workspace_id = c.workspace_id AND k.agent_id = c.agent_id AND k.metric_key = v.metric_key
  WHERE trim(v.value_text) <> ''
),
typed AS (
  SELECT m.*, or_null(d.metric_key) AS declared_key, or_null(d.type) AS declared_type,
    CASE WHEN coalesce(lower(or_null(d.type)), 'number') IN ('number', 'integer', 'float', 'decimal') THEN m.value_number END AS number
  FROM measured m LEFT JOIN custom_metrics d ON d.workspace_id = m.workspace_id AND d.agent_id = m.agent_id AND d.metric_id = m.metric_id
),
by_value AS (
  SELECT workspace_id, agent_id, channel, metric_id, day, coalesce(declared_key, max(sent_key), metric_id) AS metric_key, declared_type,
    number IS NOT NULL AS is_number, CASE WHEN number IS NULL THEN left(value_text, 200) END AS value_text,
    count(DISTINCT _record) AS conversations, count(*) AS measurements, fsum(number) AS value_sum, min(number) AS value_min, max(number) AS value_max
  FROM typed GROUP BY workspace_id, agent_id, channel, metric_id, day, declared_key, declared_type, is_number, 9
),
ranked AS (
  SELECT *, CASE WHEN is_number THEN 0 ELSE least(row_number() OVER (PARTITION BY workspace_id, agent_id, channel, metric_id, day, is_number
    ORDER BY measurements DESC, value_text), 21) END::INTEGER AS value_rank
  FROM by_value
)
SELECT
  workspace_id, agent_id, channel, metric_id, day, value_rank, any_value(d.agent_title) AS agent_title, max(metric_key) AS metric_key,
  or_unknown(any_value(declared_type)) AS declared_type, CASE WHEN value_rank = 0 THEN 'number' ELSE 'text' END AS value_type,
  any_value(value_text) FILTER (value_rank <= 20) AS value_text, value_rank > 20 AS is_rest,
  sum(conversations)::BIGINT AS conversations, sum(measurements)::BIGINT AS measurements,
  max(value_sum) AS value_sum, max(value_min) AS value_min, max(value_max) AS value_max
FROM ranked LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id) GROUP BY ALL
