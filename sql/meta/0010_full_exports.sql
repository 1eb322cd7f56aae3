-- Until when a workspace's full exports are dropped: those that were planned by then are not gone on with.
CREATE TABLE IF NOT EXISTS _full_exports_dropped (
  workspace_id VARCHAR NOT NULL,
  planned_until TIMESTAMP NOT NULL
);
