-- coverage: which windows of each agent have been read, and how far. One row for each window.
-- `skipped` conversations had no human message when they were scanned; they bill nothing and are not in the tables.
-- Columns:
--   workspace_id     VARCHAR      none  Workspace
--   agent_id         VARCHAR      none  Agent
--   kind             VARCHAR      none  Kind of the window: head, tail, full, reread, selected, refresh or sample
--   from_at          TIMESTAMPTZ  none  First second of `ts` that it covers; NULL: from the beginning of time
--   to_at            TIMESTAMPTZ  none  Last second of `ts` that it covers
--   opened_at        TIMESTAMPTZ  none  When it was opened
--   done             BOOLEAN      none  It is read to its end
--   pages            INTEGER      none  Loaded pages
--   returned         BIGINT       none  Conversations returned
--   skipped          BIGINT       none  Conversations scanned and not returned
--   billed_sessions  BIGINT       none  Billed sessions
CREATE OR REPLACE VIEW coverage AS
SELECT
  workspace_id, agent_id, kind, from_at, to_at, opened_at, done, pages,
  returned, scanned - returned AS skipped, billed AS billed_sessions
FROM _windows;
