-- Tables of what derives from the loaded records: checks, marts, models and publications.

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
  -- While it fails, targets that have its table stay as they are.
  blocks BOOLEAN NOT NULL,
  -- passed, failed, broken (it cannot run) or timeout.
  outcome VARCHAR NOT NULL,
  -- Rows that break the rule; NULL if it did not run to its end.
  violations BIGINT,
  -- Keys of some of these rows: ids, never other values.
  examples JSON NOT NULL,
  -- Why it is broken; never a value.
  error VARCHAR,
  -- When it ran.
  checked_at TIMESTAMPTZ NOT NULL,
  -- How long it took (ms).
  duration_ms BIGINT NOT NULL,
  -- Epoch of the change log when it ran.
  epoch VARCHAR NOT NULL,
  -- The last entry of the change log when it ran.
  seq BIGINT NOT NULL
);

-- The schema `marts`: its tables are declared in sql/marts, and created and filled by src/warehouse/marts.
CREATE SCHEMA marts;

-- One row, once the marts are built: how far they have followed the change log.
CREATE TABLE _marts (
  -- The epoch of the log.
  epoch VARCHAR NOT NULL,
  -- The entry up to which they have followed it.
  seq BIGINT NOT NULL,
  -- Hash of the declarations and SELECTs that built them.
  definition VARCHAR NOT NULL
);

-- One row for each publication to a target.
CREATE TABLE _publications (
  -- Key: id of the publication, which its target stores too. A target with an id that is not listed here was written by another warehouse.
  id VARCHAR NOT NULL,
  -- Name of the target.
  target VARCHAR NOT NULL,
  -- delta (changed rows) or refill (all rows).
  kind VARCHAR NOT NULL,
  -- Why the target was written from empty; NULL for a delta.
  reason VARCHAR,
  -- Epoch of the change log that the target has reached, once the publication has ended without an error.
  epoch VARCHAR NOT NULL,
  -- Entry of the change log that the target has reached then.
  seq BIGINT NOT NULL,
  -- Rows in the package.
  row_count BIGINT,
  -- When its rows were read.
  started_at TIMESTAMPTZ NOT NULL,
  -- When it ended; NULL: it runs, or was killed.
  ended_at TIMESTAMPTZ,
  -- Code of the error that it failed with.
  error_code VARCHAR,
  -- What went wrong.
  error VARCHAR,
  -- What to do about it.
  hint VARCHAR
);

-- Whom conversations name, from which dim_people is brought up to date: two rows for each person. It lets a refresh look at changed conversations
-- alone, as long as the newest name and address of a person are in one of these, or in one that has not changed.
CREATE TABLE _people (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: person (PII: staff).
  user_id VARCHAR NOT NULL,
  -- Key: name or email.
  kind VARCHAR NOT NULL,
  -- The newest name or address that a conversation has; NULL if none has one (PII: staff).
  text VARCHAR,
  -- Version of that conversation.
  seen_at TIMESTAMPTZ NOT NULL,
  -- Agent of that conversation.
  agent_id VARCHAR NOT NULL,
  -- That conversation.
  conversation_id VARCHAR NOT NULL
);

-- Business hours and targets of service levels, as the configuration has them.
CREATE TABLE _response_rules (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- The settings and the time zone that the rows of `_business_hours` and `_sla_targets` derive from, as JSON.
  settings VARCHAR NOT NULL,
  -- Business hours are configured.
  has_hours BOOLEAN NOT NULL
);

-- One row for each time in which a workspace is open, from 2010 to 2059. None: it always is.
CREATE TABLE _business_hours (
  -- Workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Begin.
  opens_at TIMESTAMPTZ NOT NULL,
  -- End.
  closes_at TIMESTAMPTZ NOT NULL,
  -- Business time before it, in seconds.
  seconds_before BIGINT NOT NULL
);

-- One row for each target of a service level.
CREATE TABLE _sla_targets (
  -- Workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Number of the rule, from 1: the first one that matches applies.
  rule INTEGER NOT NULL,
  -- Name of the service level.
  name VARCHAR NOT NULL,
  -- What it limits: first_response, next_response, handoff or resolution.
  metric VARCHAR NOT NULL,
  -- The longest wait, in seconds.
  target_seconds BIGINT NOT NULL,
  -- Only business time counts.
  is_business BOOLEAN NOT NULL,
  -- Agents to which it applies; NULL: all.
  agents VARCHAR[],
  -- Channels to which it applies; NULL: all.
  channels VARCHAR[]
);

-- The schema `models`: a table for each file of the user's folder of models, which src/warehouse/models creates and fills.
CREATE SCHEMA models;

-- One row for each model.
CREATE TABLE _models (
  -- Name of the model: its table is `models.NAME`.
  name VARCHAR NOT NULL,
  -- What it is, as its file says.
  about VARCHAR NOT NULL,
  -- Hash of the file that the last attempt read.
  definition VARCHAR NOT NULL,
  -- Key columns.
  key VARCHAR[] NOT NULL,
  -- Columns of its table, as JSON: name, type, class of personal data, description. Empty: it has not been built yet.
  columns VARCHAR NOT NULL,
  -- Columns that targets with a row filter do not receive.
  shared VARCHAR[] NOT NULL,
  -- Epoch of the change log when its rows were read.
  epoch VARCHAR,
  -- Entry of the change log up to which its rows have followed it.
  seq BIGINT,
  -- The last attempt: built, invalid, failed, timeout or blocked. Unless it is built, the rows are those of the attempt that last succeeded.
  outcome VARCHAR NOT NULL,
  -- Why it is not built; never a value.
  error VARCHAR,
  -- What to do about it.
  hint VARCHAR,
  -- Rows of its table.
  row_count BIGINT,
  -- Time that the last attempt took, ms.
  duration_ms BIGINT,
  -- When that was.
  tried_at TIMESTAMPTZ NOT NULL,
  -- Identifies its table, and changes when the table is created again with other columns or another key: targets that have rows of an earlier table are written from empty. NULL: it has not been built.
  table_id VARCHAR
);
