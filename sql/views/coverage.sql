-- coverage: which windows of each agent have been read, and how far. One row for each window.
-- `skipped` conversations had no human message when they were scanned; they bill nothing and are not in the tables.
CREATE OR REPLACE VIEW coverage AS
SELECT
  workspace_id, agent_id, kind, from_at, to_at, opened_at, done, pages,
  returned, scanned - returned AS skipped, billed AS billed_sessions
FROM _windows;
