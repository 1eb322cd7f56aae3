-- Full exports of a workspace that were planned up to this time are dropped and do not continue.
CREATE TABLE IF NOT EXISTS _full_exports_dropped (
  workspace_id VARCHAR NOT NULL,
  planned_until TIMESTAMP NOT NULL
);
