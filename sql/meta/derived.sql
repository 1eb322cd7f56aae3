-- Tables derived from the loaded records: checks, marts, models and publications.

-- The last result of each check of the tables (`convohouse check`).
CREATE TABLE _checks (
  -- Key: name of the check.
  name VARCHAR NOT NULL,
  -- The rule that it checks.
  about VARCHAR NOT NULL,
  -- Table that it checks.
  table_name VARCHAR NOT NULL,
  -- error or warn.
  severity VARCHAR NOT NULL,
  -- While it fails, targets that receive its table are not published to.
  blocks BOOLEAN NOT NULL,
  -- passed, failed, broken (it cannot run) or timeout.
  outcome VARCHAR NOT NULL,
  -- Number of rows that break the rule; NULL if it did not finish.
  violations BIGINT,
  -- Keys of some of these rows: ids, never other values.
  examples JSON NOT NULL,
  -- Reason why it is broken, without values.
  error VARCHAR,
  -- When it ran.
  checked_at TIMESTAMPTZ NOT NULL,
  -- Duration of its last run (ms).
  duration_ms BIGINT NOT NULL,
  -- Epoch of the change log when it ran.
  epoch VARCHAR NOT NULL,
  -- The last entry of the change log when it ran.
  seq BIGINT NOT NULL
);

-- The schema `marts`: its tables are declared in sql/marts, and created and filled by src/warehouse/marts.
CREATE SCHEMA marts;

-- One row once the marts are built: their position in the change log.
CREATE TABLE _marts (
  -- The epoch of the log.
  epoch VARCHAR NOT NULL,
  -- The last entry that they have followed.
  seq BIGINT NOT NULL,
  -- Hash of the declarations and SELECTs that built them.
  definition VARCHAR NOT NULL
);

-- One row for each publication to a target.
CREATE TABLE _publications (
  -- Key: id of the publication, which its target stores too. Another warehouse wrote a target whose id is not listed here.
  id VARCHAR NOT NULL,
  -- Name of the target.
  target VARCHAR NOT NULL,
  -- delta (changed rows) or refill (all rows).
  kind VARCHAR NOT NULL,
  -- Reason why the target was written from empty; NULL for a delta.
  reason VARCHAR,
  -- Epoch of the change log that the target has reached, once the publication has ended without an error.
  epoch VARCHAR NOT NULL,
  -- Entry of the change log that the target has then reached.
  seq BIGINT NOT NULL,
  -- Number of rows in the package.
  row_count BIGINT,
  -- When its rows were read.
  started_at TIMESTAMPTZ NOT NULL,
  -- When it ended; NULL while it runs, or if it was killed.
  ended_at TIMESTAMPTZ,
  -- Code of its error.
  error_code VARCHAR,
  -- Error message.
  error VARCHAR,
  -- Advice for the user; without an error, the tables that the target cannot hold, and why.
  hint VARCHAR
);

-- People that conversations name, from which dim_people is updated: two rows per person. A refresh reads only changed
-- conversations, as long as these or an unchanged conversation have a person's newest name and address.
CREATE TABLE _people (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: person (PII: staff).
  user_id VARCHAR NOT NULL,
  -- Key: name or email.
  kind VARCHAR NOT NULL,
  -- The newest name or address in a conversation; NULL if there is none (PII: staff).
  text VARCHAR,
  -- Version of that conversation.
  seen_at TIMESTAMPTZ NOT NULL,
  -- Agent of that conversation.
  agent_id VARCHAR NOT NULL,
  -- That conversation.
  conversation_id VARCHAR NOT NULL
);

-- Business hours and targets of service levels, as configured.
CREATE TABLE _response_rules (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- The settings and the time zone from which the rows of `_business_hours` and `_sla_targets` derive, as JSON.
  settings VARCHAR NOT NULL,
  -- True if business hours are configured.
  has_hours BOOLEAN NOT NULL
);

-- One row for each time in which a workspace is open, from 2010 to 2059. No rows mean that it is always open.
CREATE TABLE _business_hours (
  -- Workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Beginning.
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
  -- Number of the rule, from 1. The first one that matches applies.
  rule INTEGER NOT NULL,
  -- Name of the service level.
  name VARCHAR NOT NULL,
  -- Wait that it limits: first_response, next_response, handoff or resolution.
  metric VARCHAR NOT NULL,
  -- Maximum wait, in seconds.
  target_seconds BIGINT NOT NULL,
  -- True if only business time counts.
  is_business BOOLEAN NOT NULL,
  -- Agents to which it applies; NULL for all.
  agents VARCHAR[],
  -- Channels to which it applies; NULL for all.
  channels VARCHAR[]
);

-- The schema `models`: a table for each file in the user's folder of models, which src/warehouse/models creates and fills.
CREATE SCHEMA models;

-- One row for each model.
CREATE TABLE _models (
  -- Name of the model: its table is `models.NAME`.
  name VARCHAR NOT NULL,
  -- Description of its rows, from its file.
  about VARCHAR NOT NULL,
  -- Hash of the file that the last attempt read.
  definition VARCHAR NOT NULL,
  -- Key columns.
  key VARCHAR[] NOT NULL,
  -- Columns of its table, as JSON: name, type, class of personal data, description. Empty if it has not been built yet.
  columns VARCHAR NOT NULL,
  -- Columns that targets with a row filter do not receive.
  shared VARCHAR[] NOT NULL,
  -- Epoch of the change log when its rows were read.
  epoch VARCHAR,
  -- The last entry of the change log that its rows have followed.
  seq BIGINT,
  -- Outcome of the last attempt: built, invalid, failed, timeout or blocked. Unless built, the rows are those of the last success.
  outcome VARCHAR NOT NULL,
  -- Reason why it is not built, without values.
  error VARCHAR,
  -- Advice for the user.
  hint VARCHAR,
  -- Number of rows in its table.
  row_count BIGINT,
  -- Duration of the last attempt (ms).
  duration_ms BIGINT,
  -- When the last attempt was made.
  tried_at TIMESTAMPTZ NOT NULL,
  -- Identifies its table, and changes when it is created again with other columns or another key: targets with rows of an earlier table are then written from empty. NULL if it has not been built.
  table_id VARCHAR
);
