-- fct_turns: one row for each message of a conversation's newest transcript.
-- Grain: workspace_id, agent_id, conversation_id, position
-- Month: day
-- Refresh: conversations
-- Built from: conversations, conversation_transcripts, marts.dim_agents, marts.dim_people
-- Rows of: conversation_turns
-- Joins: sender_id = dim_people.user_id
-- Shared: sender_name
-- Use: reading and searching transcripts, and times between messages. Transcripts are known where an event has reported the turns (`has_transcript`
-- of fct_conversations). Messages are in the order of their times, and messages of the same time in the order of the vendor's list. `text` is dropped
-- in targets unless they keep `content`. Waiting times of contacts are in fct_responses.
-- Example:
-- SELECT position, sender, sender_name, text FROM marts.fct_turns
-- WHERE agent_id = 'AGENT' AND conversation_id = 'CONVERSATION' ORDER BY position;
-- Columns:
--   workspace_id            VARCHAR      none     Workspace
--   agent_id                VARCHAR      none     Agent
--   conversation_id         VARCHAR      none     Conversation
--   position                INTEGER      none     Number of the message in its conversation, from 1
--   turn_key                VARCHAR      none     The four columns above in one: the key that DuckDB's full-text search needs
--   agent_title             VARCHAR      none     Title of the agent
--   channel                 VARCHAR      none     Channel of the conversation; `unknown` if none was reported
--   day                     DATE         none     Day of the message in the workspace's time zone, else of the conversation
--   local_hour              BIGINT       none     Hour of the message in the workspace's time zone, 0 to 23
--   weekday                 BIGINT       none     Day of the week of `day`, 1 (Monday) to 7 (Sunday)
--   is_counted              BOOLEAN      none     The conversation counts in aggregates
--   written_at              TIMESTAMPTZ  none     When it was written
--   sender                  VARCHAR      none     Who wrote it: contact, agent or person; `unknown` for another role
--   role                    VARCHAR      word     The role as the vendor names it
--   sender_id               VARCHAR      staff    The person who wrote it: as the message says, else who had accepted the newest handoff
--   sender_name             VARCHAR      staff    Name of that person
--   text                    VARCHAR      content  What was said
--   characters              BIGINT       none     Length of the text
--   previous_sender         VARCHAR      none     Sender of the message before it; `unknown` for the first
--   seconds_since_previous  DOUBLE       none     Since the message before it; NULL where a time is unknown or earlier
--   turn_id                 VARCHAR      none     Id of the turn
--   session_id              VARCHAR      none     Session of the turn
WITH accepted AS (
  -- The last one of several handoffs that were accepted at the same time.
  SELECT workspace_id, agent_id, conversation_id, accepted_at, arg_max(accepted_by, position) AS accepted_by
  FROM scoped('conversation_handoffs') WHERE trim(accepted_by) <> '' AND accepted_at IS NOT NULL GROUP BY ALL
),
turns AS (
  SELECT workspace_id, agent_id, conversation_id, position, written_at, role, text, turn_id, session_id,
    sender_of(role) AS sender, CASE WHEN sender_of(role) = 'person' THEN coalesce(sender_id_of(extra), sender_id_of(turn_extra)) END AS own_id
  FROM scoped('conversation_turns')
),
sent AS (
  SELECT t.*, CASE WHEN t.sender = 'person' THEN coalesce(t.own_id, h.accepted_by) END AS sender_id,
    lag(t.sender) OVER conversation AS previous_sender, lag(t.written_at) OVER conversation AS previous_at
  FROM turns t ASOF LEFT JOIN accepted h ON h.workspace_id = t.workspace_id AND h.agent_id = t.agent_id AND h.conversation_id = t.conversation_id
    AND h.accepted_at <= t.written_at
  WINDOW conversation AS (PARTITION BY t.workspace_id, t.agent_id, t.conversation_id ORDER BY t.position)
)
SELECT
  s.workspace_id, s.agent_id, s.conversation_id, s.position,
  md5(concat_ws(chr(31), s.workspace_id, s.agent_id, s.conversation_id, s.position)) AS turn_key,
  d.agent_title, or_unknown(c.channel) AS channel,
  coalesce(local_day(s.written_at, w.time_zone), c.day) AS day, local_hour(s.written_at, w.time_zone) AS local_hour,
  isodow(coalesce(local_day(s.written_at, w.time_zone), c.day)) AS weekday,
  is_counted(c._complete, c.is_test, c.day) AS is_counted,
  s.written_at, or_unknown(s.sender) AS sender, or_unknown(s.role) AS role, s.sender_id, p.name AS sender_name, s.text, length(s.text) AS characters,
  or_unknown(s.previous_sender) AS previous_sender, seconds_between(s.previous_at, s.written_at) AS seconds_since_previous, s.turn_id, s.session_id
FROM sent s
JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
LEFT JOIN _workspaces w ON w.workspace_id = s.workspace_id
LEFT JOIN marts.dim_agents d ON d.workspace_id = s.workspace_id AND d.agent_id = s.agent_id
LEFT JOIN marts.dim_people p ON p.workspace_id = s.workspace_id AND p.user_id = s.sender_id
