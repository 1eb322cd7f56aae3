-- Tables that the catalog does not declare and that loading fills. A change that a warehouse of this layout does not have increments LAYOUT in
-- src/warehouse/maintenance/create-tables.ts.
--
-- Times are UTC. No primary keys on tables that grow with the data, because they make an upsert of wide tables seventy times slower:
-- sql/checks test uniqueness instead.

-- One row: which layout this file has.
CREATE TABLE _layout (
  -- Number of the layout. A version of convohouse with another number refuses the file.
  number INTEGER NOT NULL,
  -- Hash of the columns, views and marts that were last created here: if it is that of this version, none is missing.
  definition VARCHAR NOT NULL
);

-- One row for each window, by its loaded pages.
CREATE TABLE _windows (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: name of the window.
  window_name VARCHAR NOT NULL,
  -- head, tail, full, reread, selected, refresh or sample.
  kind VARCHAR NOT NULL,
  -- First second of `ts` that the window covers. NULL: from the beginning of time, or, with `to_at`, no range.
  from_at TIMESTAMPTZ,
  -- Last second of `ts` that the window covers.
  to_at TIMESTAMPTZ,
  -- When it was opened.
  opened_at TIMESTAMPTZ NOT NULL,
  -- It is read to its end.
  done BOOLEAN NOT NULL,
  -- Loaded pages.
  pages INTEGER NOT NULL,
  -- Conversations returned.
  returned BIGINT NOT NULL,
  -- Conversations scanned, including skipped ones.
  scanned BIGINT NOT NULL,
  -- Billed sessions.
  billed BIGINT NOT NULL,
  -- The fold of its pages that paging continues from.
  progress JSON NOT NULL
);

-- Seconds of `ts` covered by finished windows, by agent: disjoint closed intervals. The table derives from `_windows`, and exists because a
-- workspace that is polled has a million windows a year and a handful of intervals.
CREATE TABLE _covered (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- First second, since the epoch.
  from_sec BIGINT NOT NULL,
  -- Last second, since the epoch.
  to_sec BIGINT NOT NULL
);

-- One row for each landed file that is loaded.
CREATE TABLE _loads (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: the landed file.
  file VARCHAR NOT NULL,
  -- Kind of request, as in `_requests`.
  stream VARCHAR NOT NULL,
  -- Records in it.
  records BIGINT NOT NULL,
  -- The page's records were coerced, on the tolerant path.
  coerced BOOLEAN NOT NULL,
  -- When it was loaded.
  loaded_at TIMESTAMPTZ NOT NULL
);

-- Folders of the landing of months that are over, all of whose pages are loaded: as long as the folder has not changed since, its
-- names need not be read to find pages that are not loaded yet.
CREATE TABLE _folders (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: name of the folder.
  folder VARCHAR NOT NULL,
  -- When the folder last changed, in nanoseconds, by the file system.
  stamp VARCHAR NOT NULL
);

-- One row for each requested sync.
CREATE TABLE _runs (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: id of the run.
  run VARCHAR NOT NULL,
  -- When it started.
  started_at TIMESTAMPTZ NOT NULL,
  -- When it ended; NULL: it has not.
  ended_at TIMESTAMPTZ,
  -- How it ended.
  outcome VARCHAR,
  -- Requests that it made.
  requests BIGINT,
  -- Sessions that it was billed.
  sessions BIGINT,
  -- Pages that it landed.
  pages BIGINT,
  -- Conversations that it exported.
  conversations BIGINT,
  -- The command that started it, also where the run failed before it had a plan.
  origin VARCHAR,
  -- embedded or temporal.
  host VARCHAR,
  -- Process that held the warehouse.
  pid BIGINT,
  -- When a running sync last reported that it was alive.
  seen_at TIMESTAMPTZ,
  -- When it was paused; NULL: it is not paused.
  paused_at TIMESTAMPTZ,
  -- Code of its error; of a run that continues, of its last attempt.
  error_code VARCHAR,
  -- Why it failed.
  error VARCHAR,
  -- What to do about it.
  hint VARCHAR,
  -- Records and events that were quarantined since the run before it.
  quarantined BIGINT,
  -- True where the request was fulfilled. History may still wait for sessions that are reserved for new conversations.
  success BOOLEAN,
  -- Webhook events that receivers had refused by its end, since their record began: the next run reports later ones.
  webhooks_refused BIGINT,
  -- Agents that the run left to a later one, because their requests failed while those of others succeeded: a list of agentId, code and what. NULL: none.
  agents_left JSON
);

-- Full exports of a workspace that were planned up to this time are dropped and do not continue.
CREATE TABLE _full_exports_dropped (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Full exports that were planned up to this time are dropped.
  planned_until TIMESTAMPTZ NOT NULL
);

-- One row for each answer that landed.
CREATE TABLE _requests (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: the landed file.
  file VARCHAR NOT NULL,
  -- Run that made the request.
  run VARCHAR,
  -- Kind of request: conversations, or the resource.
  stream VARCHAR NOT NULL,
  -- Agent whose conversations were requested.
  agent_id VARCHAR,
  -- Window of the page.
  window_name VARCHAR NOT NULL,
  -- When the request was sent, server's clock.
  sent_at TIMESTAMPTZ NOT NULL,
  -- From the request to the end of the answer (ms).
  duration_ms BIGINT,
  -- HTTP status.
  status INTEGER NOT NULL,
  -- Conversations returned.
  returned BIGINT,
  -- Conversations scanned, including skipped ones (`scannedConvoCount`).
  scanned BIGINT,
  -- Sessions billed (`usage.billableUsedThisRequest`), at least one a conversation; if not reported, those that the records show. NULL for a listing.
  billed_sessions BIGINT,
  -- Length of the body (bytes).
  body_bytes BIGINT,
  -- Kind of the window: head, tail, full, reread, selected, refresh, sample; NULL for a listing.
  kind VARCHAR,
  -- First second of `ts` that the page covers.
  from_at TIMESTAMPTZ,
  -- Last second of `ts` that the page covers.
  to_at TIMESTAMPTZ,
  -- Id of the billing in the vendor's log (`usage.logId`); NULL where the vendor reported none.
  log_id VARCHAR,
  -- The vendor's summary of the billing (`usage.summary`).
  usage_summary VARCHAR,
  -- Export requests that the vendor has counted (`usage.exportRequestCount`).
  export_request_count BIGINT
);

-- The usage and quota that the vendor reported with each answer.
CREATE TABLE _quota (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: when the answer that reported the quota was requested.
  reported_at TIMESTAMPTZ NOT NULL,
  -- Billing period.
  period_key VARCHAR,
  -- Sessions used in the period.
  used_sessions BIGINT,
  -- Sessions that the plan includes.
  included_sessions BIGINT,
  -- Sessions that are left.
  remaining_sessions BIGINT,
  -- Sessions used beyond the included ones.
  overage_sessions BIGINT,
  -- Packs charged for them.
  overage_packs BIGINT,
  -- Requests allowed per hour.
  requests_per_hour BIGINT,
  -- Requests left in the hour.
  remaining_requests BIGINT
);

-- Data issues: values that did not fit, by path. Never a value.
CREATE TABLE _issues (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: record type.
  record VARCHAR NOT NULL,
  -- Key: path in the record.
  path VARCHAR NOT NULL,
  -- Key: what did not fit.
  issue VARCHAR NOT NULL,
  -- Declared type.
  declared VARCHAR,
  -- Type that was seen.
  seen VARCHAR,
  -- How often.
  occurrences BIGINT NOT NULL,
  -- When first.
  first_seen TIMESTAMPTZ NOT NULL,
  -- When last.
  last_seen TIMESTAMPTZ NOT NULL,
  -- A landed file that has it.
  example_file VARCHAR NOT NULL
);

-- Schema drift: paths that the vendor sends and the catalog does not declare.
CREATE TABLE _drift (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: record type.
  record VARCHAR NOT NULL,
  -- Key: path in the record.
  path VARCHAR NOT NULL,
  -- Type that was seen.
  seen VARCHAR NOT NULL,
  -- How often.
  occurrences BIGINT NOT NULL,
  -- When first.
  first_seen TIMESTAMPTZ NOT NULL,
  -- When last.
  last_seen TIMESTAMPTZ NOT NULL,
  -- A landed file that has it.
  example_file VARCHAR NOT NULL
);

-- Records that could not be loaded: which file, which element of its page, and why. The landing has the record itself.
CREATE TABLE _quarantine (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Record type.
  record VARCHAR NOT NULL,
  -- Key: the landed file.
  file VARCHAR NOT NULL,
  -- Key: position in the page.
  element INTEGER NOT NULL,
  -- Why it could not be loaded; never a value.
  reason VARCHAR NOT NULL,
  -- When it was quarantined.
  quarantined_at TIMESTAMPTZ NOT NULL
);

-- One row for each refresh that no new message caused, under `refreshOn: auto`: what it found decides whether such refreshes are skipped.
CREATE TABLE _measured_refreshes (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: conversation id.
  conversation_id VARCHAR NOT NULL,
  -- Key: when it was requested, server's clock.
  requested_at TIMESTAMPTZ NOT NULL,
  -- Keys of the API's record whose values differ from those of the export before, apart from keys that nobody analyzes. They include keys that events carry.
  changed VARCHAR[] NOT NULL
);

-- Evidence of absence, so that `_missing_since` follows from the landed answers in any load order: one row for each requested id that
-- the answer lacks, each record that the vendor answered with 404, and each complete listing.
CREATE TABLE _absences (
  -- Workspace id.
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
  -- Records seen last before this are gone.
  before_at TIMESTAMPTZ NOT NULL,
  -- Records are gone since then.
  since TIMESTAMPTZ NOT NULL,
  -- Changes before this are settled by it.
  as_of TIMESTAMPTZ NOT NULL
);

-- The workspace's configuration at the last load: the reconciliation report needs to know where its days begin.
CREATE TABLE _workspaces (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Its time zone, an IANA name.
  time_zone VARCHAR NOT NULL
);

-- Parts of a conversation that events carried, newer than its full record: one value for each key.
CREATE TABLE conversation_patches (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: conversation id.
  conversation_id VARCHAR NOT NULL,
  -- Key: top-level key of the API's record.
  "key" VARCHAR NOT NULL,
  -- Its value, as sent (PII: content).
  value JSON,
  -- The record's `lastModified` in the event.
  modified TIMESTAMPTZ,
  -- When the event was sent.
  as_of TIMESTAMPTZ NOT NULL,
  -- When the event was received.
  fetched_at TIMESTAMPTZ NOT NULL
);

-- One row each time that a conversation was seen: changes and spend by day derive from it, whatever the order of arrival.
CREATE TABLE conversation_observations (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: conversation id.
  conversation_id VARCHAR NOT NULL,
  -- When it was seen: the request was sent, or the event happened.
  observed_at TIMESTAMPTZ NOT NULL,
  -- export or webhook.
  source VARCHAR NOT NULL,
  -- The record's own last change, else `observed_at`: orders the observations.
  version TIMESTAMPTZ NOT NULL,
  -- State.
  state VARCHAR,
  -- Lead stage.
  stage VARCHAR,
  -- Whom the chat was assigned to (PII: staff).
  chat_assigned_to VARCHAR,
  -- It was resolved.
  is_resolved BOOLEAN,
  -- When it was resolved.
  resolved_at TIMESTAMPTZ,
  -- Input tokens so far.
  token_usage_cumulative_input_tokens BIGINT,
  -- Output tokens so far.
  token_usage_cumulative_output_tokens BIGINT,
  -- Tokens so far.
  token_usage_cumulative_total_tokens BIGINT,
  -- Cost of the tokens so far (USD).
  token_usage_cumulative_usd DOUBLE,
  -- Token usage by model, as sent.
  token_usage_per_model JSON,
  -- Credits so far.
  detailed_cost_total_credits_consumed DOUBLE,
  -- Cost of speech generation so far.
  detailed_cost_speech_gen_cost DOUBLE,
  -- Cost of transcription so far.
  detailed_cost_transcriber_cost DOUBLE,
  -- Cost of language models so far.
  detailed_cost_llm_cost DOUBLE,
  -- Cost of the call so far.
  ext_cost DOUBLE,
  -- Kind of the window that brought the observation; NULL for an event.
  kind VARCHAR,
  -- The record's own `lastModified`, where it has one: two observations without it cannot be distinguished.
  modified TIMESTAMPTZ,
  -- The observed columns that an event carried, null values included; NULL: an export, which carries all.
  reported VARCHAR[],
  -- Last message of the conversation, as it was seen: costs are booked on its day.
  last_message_ts TIMESTAMPTZ
);

-- One row. The change log tells consumers what they must apply to their copies. Its epoch is random: within it, the log has every change
-- since `seq` = `trimmed_to`.
CREATE TABLE _change_log (
  -- Id of the epoch.
  epoch VARCHAR NOT NULL,
  -- When it began.
  begun_at TIMESTAMPTZ NOT NULL,
  -- Entries up to this one are deleted.
  trimmed_to BIGINT NOT NULL
);
INSERT INTO _change_log VALUES (uuid()::VARCHAR, now(), 0);

-- One row for each changed record, in the order of the commits.
CREATE TABLE _changes (
  -- Key: number of the entry, in the order of the commits.
  seq BIGINT NOT NULL,
  -- When the transaction began.
  logged_at TIMESTAMPTZ NOT NULL,
  -- Table of the record; the entry covers its child tables too.
  table_name VARCHAR NOT NULL,
  -- Values of the table's key columns; of an observation also `observed_at`.
  key VARCHAR[] NOT NULL,
  -- First day of the UTC month that the row belonged to before the change: of `ts` (conversations), `observed_at` (observations) or `_as_of` (events). NULL: no row, no time, or a table without partitions.
  partition_before DATE,
  -- insert, update or delete.
  op VARCHAR NOT NULL
);

-- Consumers of the log. Without a row, nothing is logged.
CREATE TABLE _consumers (
  -- Key: name of the consumer.
  name VARCHAR NOT NULL,
  -- It has applied the entries up to this one; later entries are kept for it, for seven days.
  seq BIGINT NOT NULL,
  -- When it was registered.
  registered_at TIMESTAMPTZ NOT NULL,
  -- When it last reported `seq`; NULL: never.
  acknowledged_at TIMESTAMPTZ
);
