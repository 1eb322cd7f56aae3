-- tags_daily: one row for each of the 100 most frequent tags of an agent, channel and day, and one for all others.
-- Grain: workspace_id, agent_id, channel, day, tag_rank
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Built from: conversations, marts.fct_conversations, marts.dim_agents
-- Rows of: conversation_tags
-- Use: what conversations are about. Only conversations that count (`is_counted`), on the day on which they began. A conversation counts for each of its
-- tags, once: never add tags up to a number of conversations, which conversations_daily has. Tags of the same day are ranked by their conversations, then
-- by name. Beyond 100 they are one row with `is_rest`, and without a name.
-- Example:
-- SELECT coalesce(tag, 'all others') AS tag, sum(conversations) AS conversations, sum(csat_score_sum) / nullif(sum(csat_answers), 0) AS csat
-- FROM marts.tags_daily GROUP BY tag ORDER BY conversations DESC;
-- Columns:
--   workspace_id    VARCHAR  none   Workspace
--   agent_id        VARCHAR  none   Agent
--   channel         VARCHAR  none   Channel; `unknown` if none was reported
--   day             DATE     none   Day on which the conversations began, in the workspace's time zone
--   tag_rank        INTEGER  none   1 to 100 by conversations; 101: all other tags
--   agent_title     VARCHAR  none   Title of the agent
--   tag             VARCHAR  label  The tag; NULL for all others
--   is_rest         BOOLEAN  none   The row has all other tags
--   conversations   BIGINT   none   Conversations with the tag; of the others, added up over their tags
--   resolved        BIGINT   none   Those that are resolved now
--   csat_score_sum  DOUBLE   none   Sum of their satisfaction scores
--   csat_answers    BIGINT   none   Those with a score
WITH counted AS (
  SELECT _record, workspace_id, agent_id, or_unknown(channel) AS channel, day,
    is_resolved(is_resolved, resolved_at) AS is_resolved, rating(csat_satisfaction10) AS csat
  FROM in_groups('conversations') WHERE is_counted(_complete, is_test, day)
),
tagged AS (
  -- A list may name a tag twice.
  SELECT DISTINCT c.*, t.tag FROM counted c JOIN conversation_tags t USING (_record) WHERE trim(t.tag) <> ''
),
by_tag AS (
  SELECT workspace_id, agent_id, channel, day, tag, count(*) AS conversations, count(*) FILTER (is_resolved) AS resolved,
    fsum(csat) AS csat_score_sum, count(csat) AS csat_answers
  FROM tagged GROUP BY ALL
),
ranked AS (
  SELECT *, least(row_number() OVER (PARTITION BY workspace_id, agent_id, channel, day ORDER BY conversations DESC, tag), 101)::INTEGER AS tag_rank
  FROM by_tag
)
SELECT
  workspace_id, agent_id, channel, day, tag_rank, any_value(d.agent_title) AS agent_title, any_value(tag) FILTER (tag_rank <= 100) AS tag,
  tag_rank > 100 AS is_rest, sum(conversations)::BIGINT AS conversations, sum(resolved)::BIGINT AS resolved,
  coalesce(fsum(csat_score_sum), 0) AS csat_score_sum, sum(csat_answers)::BIGINT AS csat_answers
FROM ranked LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id) GROUP BY ALL
