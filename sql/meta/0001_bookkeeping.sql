-- Bookkeeping: coverage, files loaded, runs, requests with their cost, the reported quota, data issues, schema drift and
-- records that could not be loaded. Times are UTC. No primary keys on tables that grow with the data: sql/checks test them.

-- One row for each window, by its loaded pages. `progress` is the fold that paging resumes from.
CREATE TABLE _windows (
  workspace_id VARCHAR NOT NULL,
  agent_id VARCHAR NOT NULL,
  "window" VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  from_at TIMESTAMP,
  to_at TIMESTAMP,
  opened_at TIMESTAMP NOT NULL,
  done BOOLEAN NOT NULL,
  pages INTEGER NOT NULL,
  returned BIGINT NOT NULL,
  scanned BIGINT NOT NULL,
  billed BIGINT NOT NULL,
  progress JSON NOT NULL
);

-- One row for each landed file that is in the tables.
CREATE TABLE _loads (
  workspace_id VARCHAR NOT NULL,
  file VARCHAR NOT NULL,
  stream VARCHAR NOT NULL,
  records BIGINT NOT NULL,
  mended BOOLEAN NOT NULL,
  catalog_version INTEGER NOT NULL,
  loaded_at TIMESTAMP NOT NULL
);

CREATE TABLE _runs (
  workspace_id VARCHAR NOT NULL,
  run VARCHAR NOT NULL,
  started_at TIMESTAMP NOT NULL,
  ended_at TIMESTAMP,
  outcome VARCHAR,
  requests BIGINT,
  sessions BIGINT,
  pages BIGINT,
  conversations BIGINT
);

-- One row for each answer that landed.
CREATE TABLE _requests (
  workspace_id VARCHAR NOT NULL,
  file VARCHAR NOT NULL,
  run VARCHAR,
  stream VARCHAR NOT NULL,
  agent_id VARCHAR,
  "window" VARCHAR NOT NULL,
  sent_at TIMESTAMP NOT NULL,
  duration_ms BIGINT,
  status INTEGER NOT NULL,
  returned BIGINT,
  scanned BIGINT,
  billed_sessions BIGINT,
  body_bytes BIGINT
);

-- The usage and quota that the vendor reported with each answer.
CREATE TABLE _quota (
  workspace_id VARCHAR NOT NULL,
  told_at TIMESTAMP NOT NULL,
  period_key VARCHAR,
  used_sessions BIGINT,
  included_sessions BIGINT,
  remaining_sessions BIGINT,
  overage_sessions BIGINT,
  overage_packs BIGINT,
  requests_per_hour BIGINT,
  remaining_requests BIGINT
);

-- Data issues: values that did not fit, by path. Never a value.
CREATE TABLE _issues (
  workspace_id VARCHAR NOT NULL,
  record VARCHAR NOT NULL,
  path VARCHAR NOT NULL,
  issue VARCHAR NOT NULL,
  declared VARCHAR,
  seen VARCHAR,
  occurrences BIGINT NOT NULL,
  first_seen TIMESTAMP NOT NULL,
  last_seen TIMESTAMP NOT NULL,
  example_file VARCHAR NOT NULL
);

-- Schema drift: paths that the vendor sends and the catalog does not declare.
CREATE TABLE _drift (
  workspace_id VARCHAR NOT NULL,
  record VARCHAR NOT NULL,
  path VARCHAR NOT NULL,
  seen VARCHAR NOT NULL,
  occurrences BIGINT NOT NULL,
  first_seen TIMESTAMP NOT NULL,
  last_seen TIMESTAMP NOT NULL,
  example_file VARCHAR NOT NULL
);

-- Records that could not be loaded: which file, which element of its page, and why. The record itself is in the landing.
CREATE TABLE _quarantine (
  workspace_id VARCHAR NOT NULL,
  record VARCHAR NOT NULL,
  file VARCHAR NOT NULL,
  element INTEGER NOT NULL,
  reason VARCHAR NOT NULL,
  quarantined_at TIMESTAMP NOT NULL
);

-- Parts of a conversation that events carried, newer than its full record: one value for each key.
CREATE TABLE conversation_patches (
  workspace_id VARCHAR NOT NULL,
  agent_id VARCHAR NOT NULL,
  conversation_id VARCHAR NOT NULL,
  "key" VARCHAR NOT NULL,
  value JSON,
  modified TIMESTAMP,
  as_of TIMESTAMP NOT NULL,
  fetched_at TIMESTAMP NOT NULL
);

-- One row each time that a conversation was seen: what changes and spend by day derive from, whatever the order of arrival.
CREATE TABLE conversation_observations (
  workspace_id VARCHAR NOT NULL,
  agent_id VARCHAR NOT NULL,
  conversation_id VARCHAR NOT NULL,
  observed_at TIMESTAMP NOT NULL,
  source VARCHAR NOT NULL,
  version TIMESTAMP NOT NULL,
  state VARCHAR,
  stage VARCHAR,
  chat_assigned_to VARCHAR,
  is_resolved BOOLEAN,
  resolved_at TIMESTAMP,
  token_usage_cumulative_input_tokens DOUBLE,
  token_usage_cumulative_output_tokens DOUBLE,
  token_usage_cumulative_total_tokens DOUBLE,
  token_usage_cumulative_usd DOUBLE,
  detailed_cost_total_credits_consumed DOUBLE
);
