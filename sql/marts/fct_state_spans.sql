-- fct_state_spans: one row for each span of a conversation in one state, as it was observed.
-- Grain: workspace_id, agent_id, conversation_id, position
-- Month: day
-- Refresh: conversations
-- Built from: conversations, conversation_observations, marts.dim_agents
-- Use: how long conversations are in each state. Spans derive from observations (exports and events that report the state). What happened between two
-- observations is not known: a span ends with the change that the next observation of another state reports, and a state that came and went in between is in no
-- row. The last span is open, because its end is unknown: `seconds` is NULL, and `observed_seconds` goes to the last observation. A conversation that was seen once
-- has one open span, and one whose state was never reported has none. `sum(observed_seconds)` of a conversation is the time from its first to its last observation.
-- Example:
-- SELECT state, count(*) AS spans, avg(seconds) AS average_of_ended, sum(observed_seconds) / 3600 AS observed_hours, count(*) FILTER (is_open) AS open
-- FROM marts.fct_state_spans WHERE is_counted GROUP BY state ORDER BY spans DESC;
-- Columns:
--   workspace_id      VARCHAR      none  Workspace
--   agent_id          VARCHAR      none  Agent
--   conversation_id   VARCHAR      none  Conversation
--   position          INTEGER      none  Number of the span in its conversation, from 1
--   agent_title       VARCHAR      none  Title of the agent
--   channel           VARCHAR      none  Channel of the conversation; `unknown` if none was reported
--   day               DATE         none  Day on which the span began, in the workspace's time zone
--   is_counted        BOOLEAN      none  The conversation counts in aggregates
--   state             VARCHAR      word  State; `unknown` where the observation has none
--   previous_state    VARCHAR      word  State of the span before; `unknown` for the first
--   next_state        VARCHAR      word  State of the span after; `unknown` if the span is open
--   began_at          TIMESTAMPTZ  none  Last change of the record, as the first observation of the state reports it
--   ended_at          TIMESTAMPTZ  none  The same of the next state; NULL if the span is open
--   is_open           BOOLEAN      none  Its end is not known
--   seconds           DOUBLE       none  From its begin to its end; NULL if the span is open
--   observed_seconds  DOUBLE       none  From its begin to its end, or to the last observation
--   observations      BIGINT       none  Observations in the span
WITH seen AS (
  SELECT workspace_id, agent_id, conversation_id, or_null(state) AS state, version, observed_at,
    row_number() OVER (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY version, observed_at, source, kind, state) AS nth
  FROM scoped('conversation_observations') WHERE reported IS NULL OR list_contains(reported, 'state')
),
changed AS (
  SELECT *, nth = 1 OR state IS DISTINCT FROM lag(state) OVER (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY nth) AS is_first FROM seen
),
numbered AS (
  SELECT *, sum(is_first::INTEGER) OVER (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY nth)::INTEGER AS position FROM changed
),
spans AS (
  SELECT workspace_id, agent_id, conversation_id, position, any_value(state) AS state, min(version) AS began_at, max(greatest(version, observed_at)) AS last_seen_at,
    count(*) AS observations
  FROM numbered GROUP BY workspace_id, agent_id, conversation_id, position
),
neighbours AS (
  SELECT *, lag(or_unknown(state)) OVER spans AS previous_state, lead(or_unknown(state)) OVER spans AS next_state, lead(began_at) OVER spans AS ended_at
  FROM spans WINDOW spans AS (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY position)
)
SELECT
  s.workspace_id, s.agent_id, s.conversation_id, s.position, d.agent_title, or_unknown(c.channel) AS channel,
  local_day(s.began_at, w.time_zone) AS day,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  or_unknown(s.state) AS state, or_unknown(s.previous_state) AS previous_state, or_unknown(s.next_state) AS next_state, s.began_at, s.ended_at, s.ended_at IS NULL AS is_open,
  seconds_between(s.began_at, s.ended_at) AS seconds, seconds_between(s.began_at, coalesce(s.ended_at, s.last_seen_at)) AS observed_seconds,
  s.observations
FROM neighbours s
JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
LEFT JOIN _workspaces w ON w.workspace_id = s.workspace_id
LEFT JOIN marts.dim_agents d ON d.workspace_id = s.workspace_id AND d.agent_id = s.agent_id
-- A conversation whose state was never reported has no spans.
WHERE s.state IS NOT NULL OR s.previous_state IS NOT NULL OR s.next_state IS NOT NULL
