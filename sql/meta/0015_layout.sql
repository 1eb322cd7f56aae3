-- The tables of a new warehouse that the catalog does not declare. Layouts up to 14 are not migrated: `replay` reads them through
-- `src/warehouse/maintenance/layout-map.ts`. Later layouts are migrated by files with higher numbers.
--
-- Times are UTC. No primary keys on tables that grow with the data, because they make an upsert of wide tables seventy times slower:
-- sql/checks test uniqueness instead.

-- One row for each window, by its loaded pages.
CREATE TABLE _windows (
  workspace_id VARCHAR NOT NULL,
  agent_id VARCHAR NOT NULL,
  window_name VARCHAR NOT NULL,
  -- head, tail, full, reread, selected, refresh or sample.
  kind VARCHAR NOT NULL,
  -- First and last second of `ts` that the window covers. A NULL `from_at`: from the beginning of time. Both NULL: it covers no range.
  from_at TIMESTAMP,
  to_at TIMESTAMP,
  opened_at TIMESTAMP NOT NULL,
  done BOOLEAN NOT NULL,
  pages INTEGER NOT NULL,
  returned BIGINT NOT NULL,
  scanned BIGINT NOT NULL,
  billed BIGINT NOT NULL,
  -- The fold of its pages that paging continues from.
  progress JSON NOT NULL
);

-- Seconds of `ts` covered by finished windows, by agent: disjoint closed intervals. The table derives from `_windows`, and exists because a
-- workspace that is polled has a million windows a year and a handful of intervals.
CREATE TABLE _covered (
  workspace_id VARCHAR NOT NULL,
  agent_id VARCHAR NOT NULL,
  from_sec BIGINT NOT NULL,
  to_sec BIGINT NOT NULL
);

-- One row for each landed file that is loaded.
CREATE TABLE _loads (
  workspace_id VARCHAR NOT NULL,
  file VARCHAR NOT NULL,
  stream VARCHAR NOT NULL,
  records BIGINT NOT NULL,
  -- Whether the page's records were coerced, on the tolerant path.
  coerced BOOLEAN NOT NULL,
  catalog_version INTEGER NOT NULL,
  loaded_at TIMESTAMP NOT NULL
);

-- Folders of the landing of months that are over, all of whose pages are loaded: as long as the folder has not changed since, its
-- names need not be read to find pages that are not loaded yet.
CREATE TABLE _folders (
  workspace_id VARCHAR NOT NULL,
  folder VARCHAR NOT NULL,
  -- When the folder last changed, in nanoseconds, by the file system.
  stamp VARCHAR NOT NULL
);

-- One row for each requested sync.
CREATE TABLE _runs (
  workspace_id VARCHAR NOT NULL,
  run VARCHAR NOT NULL,
  started_at TIMESTAMP NOT NULL,
  ended_at TIMESTAMP,
  outcome VARCHAR,
  requests BIGINT,
  sessions BIGINT,
  pages BIGINT,
  conversations BIGINT,
  -- The command that started it, also where the run failed before it had a plan.
  origin VARCHAR,
  -- embedded or temporal.
  host VARCHAR,
  -- The process that held the warehouse, and when a running sync last reported that it was alive.
  pid BIGINT,
  seen_at TIMESTAMP,
  -- When it was paused; NULL: it is not paused.
  paused_at TIMESTAMP,
  -- Why it failed; for a run that continues, why its last attempt failed.
  error_code VARCHAR,
  error VARCHAR,
  hint VARCHAR,
  -- Records and events that were quarantined since the run before it.
  quarantined BIGINT,
  -- True where the request was fulfilled. History may still wait for sessions that are reserved for new conversations.
  success BOOLEAN,
  -- Webhook events that receivers had refused by its end, since their record began: the next run reports later ones.
  webhooks_refused BIGINT
);

-- Full exports of a workspace that were planned up to this time are dropped and do not continue.
CREATE TABLE _full_exports_dropped (
  workspace_id VARCHAR NOT NULL,
  planned_until TIMESTAMP NOT NULL
);

-- One row for each answer that landed.
CREATE TABLE _requests (
  workspace_id VARCHAR NOT NULL,
  file VARCHAR NOT NULL,
  run VARCHAR,
  stream VARCHAR NOT NULL,
  agent_id VARCHAR,
  window_name VARCHAR NOT NULL,
  sent_at TIMESTAMP NOT NULL,
  duration_ms BIGINT,
  -- HTTP status.
  status INTEGER NOT NULL,
  returned BIGINT,
  scanned BIGINT,
  billed_sessions BIGINT,
  body_bytes BIGINT,
  -- Kind of the page's window; NULL for a listing.
  kind VARCHAR,
  -- First and last second of `ts` that the page covers, as in `_windows`.
  from_at TIMESTAMP,
  to_at TIMESTAMP,
  -- Identifies the billing of an answer at the vendor (section 2.11 of the API document); NULL where the vendor reported none.
  log_id VARCHAR,
  usage_summary VARCHAR,
  export_request_count BIGINT
);

-- The usage and quota that the vendor reported with each answer.
CREATE TABLE _quota (
  workspace_id VARCHAR NOT NULL,
  -- When the answer that reported the quota was requested.
  reported_at TIMESTAMP NOT NULL,
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

-- Records that could not be loaded: which file, which element of its page, and why. The landing has the record itself.
CREATE TABLE _quarantine (
  workspace_id VARCHAR NOT NULL,
  record VARCHAR NOT NULL,
  file VARCHAR NOT NULL,
  element INTEGER NOT NULL,
  reason VARCHAR NOT NULL,
  quarantined_at TIMESTAMP NOT NULL
);

-- Evidence of absence, so that `_missing_since` follows from the landed answers in any load order: one row for each requested id that
-- the answer lacks, each record that the vendor answered with 404, and each complete listing.
CREATE TABLE _absences (
  workspace_id VARCHAR NOT NULL,
  -- Table of what is not there: conversations, agents, organizations or teams.
  record VARCHAR NOT NULL,
  -- The agent of a conversation, the organization of a team, '' of all others.
  owner VARCHAR NOT NULL,
  -- NULL: all of that owner that were seen last before `before_at`: a complete listing did not contain them.
  id VARCHAR,
  -- gone; not exportable; unknown, where an answer does not say which of the two.
  verdict VARCHAR NOT NULL,
  -- The landed file that says so.
  file VARCHAR NOT NULL,
  -- Records seen last before this are gone, and since when.
  before_at TIMESTAMP NOT NULL,
  since TIMESTAMP NOT NULL,
  -- Changes before this are settled by it.
  as_of TIMESTAMP NOT NULL
);

-- The workspace's configuration at the last load: the reconciliation report needs to know where its days begin.
CREATE TABLE _workspaces (
  workspace_id VARCHAR NOT NULL,
  -- IANA name.
  time_zone VARCHAR NOT NULL
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

-- One row each time that a conversation was seen: changes and spend by day derive from it, whatever the order of arrival.
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
  token_usage_cumulative_input_tokens BIGINT,
  token_usage_cumulative_output_tokens BIGINT,
  token_usage_cumulative_total_tokens BIGINT,
  token_usage_cumulative_usd DOUBLE,
  -- As sent, by model.
  token_usage_per_model JSON,
  detailed_cost_total_credits_consumed DOUBLE,
  detailed_cost_speech_gen_cost DOUBLE,
  detailed_cost_transcriber_cost DOUBLE,
  detailed_cost_llm_cost DOUBLE,
  ext_cost DOUBLE,
  -- Kind of the window that brought the observation; NULL for an event.
  kind VARCHAR,
  -- The record's own `lastModified`, where it has one: two observations without it cannot be distinguished.
  modified TIMESTAMP,
  -- The observed columns that an event carried, null values included; NULL: an export, which carries all.
  reported VARCHAR[]
);

-- One row. The change log tells consumers what they must apply to their copies. Its epoch is random: within it, the log has every change
-- since `seq` = `trimmed_to`.
CREATE TABLE _change_log (
  epoch VARCHAR NOT NULL,
  begun_at TIMESTAMP NOT NULL,
  -- Entries up to this one are deleted.
  trimmed_to BIGINT NOT NULL
);
INSERT INTO _change_log VALUES (uuid()::VARCHAR, now()::TIMESTAMP, 0);

-- One row for each changed record, in the order of the commits.
CREATE TABLE _changes (
  seq BIGINT NOT NULL,
  logged_at TIMESTAMP NOT NULL,
  table_name VARCHAR NOT NULL,
  -- Values of the table's key columns.
  key VARCHAR[] NOT NULL,
  -- First day of the UTC month that the row belonged to before the change; NULL: no row, or a row without a time.
  partition_before DATE,
  -- insert, update or delete.
  op VARCHAR NOT NULL
);

-- Consumers of the log. Without a row, nothing is logged.
CREATE TABLE _consumers (
  name VARCHAR NOT NULL,
  -- The consumer has applied the entries up to this one; later entries are kept for it.
  seq BIGINT NOT NULL,
  registered_at TIMESTAMP NOT NULL,
  acknowledged_at TIMESTAMP
);
