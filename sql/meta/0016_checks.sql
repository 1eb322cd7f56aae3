-- The last result of each check of the tables (`convohouse check`).
CREATE TABLE _checks (
  -- Key: name of the check.
  name VARCHAR NOT NULL,
  -- What must hold.
  about VARCHAR NOT NULL,
  -- Table that it is about.
  table_name VARCHAR NOT NULL,
  -- error or warn.
  severity VARCHAR NOT NULL,
  -- While it fails, its table is not published.
  blocks BOOLEAN NOT NULL,
  -- passed, failed, broken (it cannot run) or timeout.
  outcome VARCHAR NOT NULL,
  -- all rows, or changes: those of records that had changed since the run before.
  scope VARCHAR NOT NULL,
  -- Rows that break the rule; NULL if it did not run to its end.
  violations BIGINT,
  -- Keys of some of these rows: ids, never other values.
  examples JSON NOT NULL,
  -- Why it is broken; never a value.
  error VARCHAR,
  -- When it ran.
  checked_at TIMESTAMP NOT NULL,
  -- How long it took (ms).
  duration_ms BIGINT NOT NULL,
  -- When it last ran over all rows.
  full_at TIMESTAMP,
  -- Epoch of the change log in which it ran.
  epoch VARCHAR,
  -- Entry of the change log up to which records are checked.
  seq BIGINT
);
