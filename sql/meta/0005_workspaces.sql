-- The workspace's configuration at the last load: the ledger needs to know where its days begin.
CREATE TABLE _workspaces (
  workspace_id VARCHAR NOT NULL,
  -- IANA name.
  time_zone VARCHAR NOT NULL
);
