-- freshness: one row for each agent that is listed or has a conversation: how fresh its data is.
-- Grain: workspace_id, agent_id
-- Refresh: whole
-- Built from: _covered, conversations, marts.dim_agents, marts.fct_conversations
-- Use: which agents' data is old, using only stored data: compare `newest_observation_at` with the time of your query. An agent
-- without new conversations has an old observation although it is read: `as_of` in the table `_publication` of a published copy says when data was
-- last read.
-- Example:
-- SELECT agent_title, newest_observation_at, now() - newest_observation_at AS age, stale FROM marts.freshness ORDER BY age DESC;
-- Columns:
--   workspace_id            VARCHAR      none  Workspace
--   agent_id                VARCHAR      none  Agent
--   agent_title             VARCHAR      none  Title of the agent
--   conversations           BIGINT       none  Conversations
--   newest_conversation_at  TIMESTAMPTZ  none  Start of the conversation that began last
--   newest_activity_at      TIMESTAMPTZ  none  Last message of any conversation
--   newest_record_at        TIMESTAMPTZ  none  The newest record is at least this fresh
--   newest_observation_at   TIMESTAMPTZ  none  When a conversation was last seen, in an export or an event
--   read_since              TIMESTAMPTZ  none  Everything since then was read, without a gap, up to the newest export; 1970 for all time, NULL if nothing was
--   incomplete              BIGINT       none  Conversations that only events have mentioned, and that may be exported
--   stale                   BIGINT       none  Conversations known to have changed since they were exported
--   missing                 BIGINT       none  Conversations that the vendor no longer has
WITH known AS (
  SELECT workspace_id, agent_id, count(*) AS conversations, max(started_at) AS newest_conversation_at, max(last_activity_at) AS newest_activity_at,
    max(as_of) AS newest_record_at, max(last_observed_at) AS newest_observation_at,
    count(*) FILTER (is_stale AND is_complete) AS stale, count(*) FILTER (is_missing) AS missing
  FROM marts.fct_conversations GROUP BY ALL
),
held AS (
  SELECT workspace_id, agent_id, count(*) AS incomplete FROM conversations
  WHERE NOT coalesce(_complete, false)
    AND NOT coalesce(_missing_since >= coalesce(_dirty_since, _missing_since), false)
    AND NOT coalesce(_not_exportable_since >= coalesce(_dirty_since, _not_exportable_since), false)
  GROUP BY ALL
),
read AS (SELECT workspace_id, agent_id, make_timestamptz(arg_max(from_sec, to_sec) * 1000000) AS read_since FROM _covered GROUP BY ALL)
SELECT
  workspace_id, agent_id, d.agent_title, coalesce(k.conversations, 0) AS conversations,
  k.newest_conversation_at, k.newest_activity_at, k.newest_record_at, k.newest_observation_at, r.read_since,
  coalesce(h.incomplete, 0) AS incomplete, coalesce(k.stale, 0) AS stale, coalesce(k.missing, 0) AS missing
FROM marts.dim_agents d LEFT JOIN known k USING (workspace_id, agent_id) LEFT JOIN held h USING (workspace_id, agent_id)
  LEFT JOIN read r USING (workspace_id, agent_id)
