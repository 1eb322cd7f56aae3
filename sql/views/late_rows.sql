-- late_rows: ranges in which a re-read found more conversations than had been skipped there: some entered the mirror late.
-- One row for each such finished re-read. `late_at_least` counts those that cannot have been skipped before. If there are many,
-- raise `settle`, so that the first reading finds them.
-- Columns:
--   workspace_id    VARCHAR      none  Workspace
--   agent_id        VARCHAR      none  Agent
--   from_at         TIMESTAMPTZ  none  First second of `ts` of the range
--   to_at           TIMESTAMPTZ  none  Last second of `ts` of the range
--   read_again_at   TIMESTAMPTZ  none  When it was read again
--   skipped_before  BIGINT       none  Conversations that had been skipped there
--   found           BIGINT       none  Conversations that only the second reading found
--   late_at_least   BIGINT       none  Those that cannot have been skipped before
CREATE OR REPLACE VIEW late_rows AS
WITH rereads AS (
  SELECT workspace_id, agent_id, window_name, from_at, to_at, opened_at,
    coalesce(CAST(json_extract_string(progress, '$.window.skipped') AS BIGINT), 0) AS skipped_before
  -- Ranges that are read again because a record left them, not because some were skipped, have no such number.
  FROM _windows WHERE kind = 'reread' AND done AND json_exists(progress, '$.window.skipped')
),
first_seen AS (
  SELECT workspace_id, agent_id, conversation_id, min(observed_at) AS seen_at, min_by(kind, observed_at) AS kind
  FROM conversation_observations
  WHERE (workspace_id, agent_id, conversation_id) IN (
    SELECT workspace_id, agent_id, conversation_id FROM conversation_observations WHERE kind = 'reread')
  GROUP BY ALL
),
found AS (
  SELECT workspace_id, agent_id, window_name, count(*) AS found
  FROM (
    SELECT q.workspace_id, q.agent_id, q.window_name
    FROM first_seen f
    JOIN _requests q ON q.workspace_id = f.workspace_id AND q.agent_id = f.agent_id AND q.sent_at = f.seen_at AND q.kind = 'reread'
    JOIN conversations c ON c.workspace_id = f.workspace_id AND c.agent_id = f.agent_id AND c.conversation_id = f.conversation_id
    WHERE f.kind = 'reread'
    -- An observation does not name its page. Of pages requested at the same moment, the one whose range contains the conversation counts.
    QUALIFY row_number() OVER (PARTITION BY f.workspace_id, f.agent_id, f.conversation_id ORDER BY
      coalesce(c.ts >= q.from_at, true) AND c.ts < q.to_at + INTERVAL 1 SECOND DESC NULLS LAST, q.window_name) = 1)
  GROUP BY ALL
)
SELECT
  r.workspace_id, r.agent_id, r.from_at, r.to_at, r.opened_at AS read_again_at,
  r.skipped_before, f.found, f.found - r.skipped_before AS late_at_least
FROM rereads r JOIN found f USING (workspace_id, agent_id, window_name)
WHERE f.found > r.skipped_before;
