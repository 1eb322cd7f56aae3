-- Tables that the catalog does not declare and that loading fills. A change that a warehouse of this layout lacks
-- increments LAYOUT in src/warehouse/maintenance/create-tables.ts.
--
-- Times are UTC. Tables that grow with the data have no primary keys, because these make an upsert of wide tables
-- seventy times slower: sql/checks test uniqueness instead.

-- One row: the layout of this file.
CREATE TABLE _layout (
  -- Number of the layout. A version of convohouse with another number refuses the file.
  number INTEGER NOT NULL,
  -- Hash of the columns, views and marts that were last created here. If it equals this version's, none is missing.
  definition VARCHAR NOT NULL
);

-- One row for each window, derived from its loaded pages.
CREATE TABLE _windows (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: name of the window.
  window_name VARCHAR NOT NULL,
  -- head, tail, full, reread, selected, refresh or sample.
  kind VARCHAR NOT NULL,
  -- First second of `ts` that the window covers. NULL for the beginning of time or, if `to_at` is NULL too, for no range.
  from_at TIMESTAMPTZ,
  -- Last second of `ts` that the window covers.
  to_at TIMESTAMPTZ,
  -- When it was opened.
  opened_at TIMESTAMPTZ NOT NULL,
  -- True if it was read to its end.
  done BOOLEAN NOT NULL,
  -- Number of loaded pages.
  pages INTEGER NOT NULL,
  -- Number of returned conversations.
  returned BIGINT NOT NULL,
  -- Number of scanned conversations, including skipped ones.
  scanned BIGINT NOT NULL,
  -- Number of billed sessions.
  billed BIGINT NOT NULL,
  -- State of paging, folded from its pages.
  progress JSON NOT NULL
);

-- Seconds of `ts` covered by finished windows, by agent, as disjoint closed intervals. The table derives from
-- `_windows`. It exists because a polled workspace has a million windows a year but only a few intervals.
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
  -- Number of its records, with those of forgotten people, which did not land or were erased.
  records BIGINT NOT NULL,
  -- True if the page's records were coerced, on the tolerant path.
  coerced BOOLEAN NOT NULL,
  -- When it was loaded.
  loaded_at TIMESTAMPTZ NOT NULL
);

-- Folders of the landing for past months whose pages are all loaded. While a folder does not change, its names need not
-- be read to find pages that are not loaded yet.
CREATE TABLE _folders (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: name of the folder.
  folder VARCHAR NOT NULL,
  -- When the folder last changed according to the file system, in nanoseconds.
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
  -- When it ended; NULL if it has not.
  ended_at TIMESTAMPTZ,
  -- Outcome.
  outcome VARCHAR,
  -- Number of requests that it made.
  requests BIGINT,
  -- Number of sessions that it was billed.
  sessions BIGINT,
  -- Number of pages that it landed.
  pages BIGINT,
  -- Number of conversations that it exported.
  conversations BIGINT,
  -- The command that started it, recorded even if the run failed before it had a plan.
  origin VARCHAR,
  -- embedded or temporal.
  host VARCHAR,
  -- Process that held the warehouse.
  pid BIGINT,
  -- When a running sync last reported that it was alive.
  seen_at TIMESTAMPTZ,
  -- When it was paused; NULL if it is not paused.
  paused_at TIMESTAMPTZ,
  -- Code of its error or, if the run continues, of its last attempt's error.
  error_code VARCHAR,
  -- Error message.
  error VARCHAR,
  -- Advice for the user.
  hint VARCHAR,
  -- Number of records and events that were quarantined since the previous run.
  quarantined BIGINT,
  -- True if the request was fulfilled. History may still wait for sessions that are reserved for new conversations.
  success BOOLEAN,
  -- Number of webhook events that receivers had refused by its end, since their record began. The next run reports later ones.
  webhooks_refused BIGINT,
  -- Agents that the run left to a later one, because their requests failed while others succeeded: a list of agentId, code and what. NULL for none.
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
  -- When the request was sent, by the server's clock.
  sent_at TIMESTAMPTZ NOT NULL,
  -- From the request to the end of the answer (ms).
  duration_ms BIGINT,
  -- HTTP status.
  status INTEGER NOT NULL,
  -- Number of returned conversations.
  returned BIGINT,
  -- Number of scanned conversations, including skipped ones (`scannedConvoCount`).
  scanned BIGINT,
  -- Sessions billed (`usage.billableUsedThisRequest`), at least one per conversation; if not reported, those in the records. NULL for a listing.
  billed_sessions BIGINT,
  -- Length of the body (bytes).
  body_bytes BIGINT,
  -- Kind of the window: head, tail, full, reread, selected, refresh, sample; NULL for a listing.
  kind VARCHAR,
  -- First second of `ts` that the page covers.
  from_at TIMESTAMPTZ,
  -- Last second of `ts` that the page covers.
  to_at TIMESTAMPTZ,
  -- Id of the billing in the vendor's log (`usage.logId`); NULL if the vendor reported none.
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
  -- Remaining sessions.
  remaining_sessions BIGINT,
  -- Sessions used beyond the included ones.
  overage_sessions BIGINT,
  -- Packs charged for them.
  overage_packs BIGINT,
  -- Requests allowed per hour.
  requests_per_hour BIGINT,
  -- Requests remaining in the hour.
  remaining_requests BIGINT
);

-- Data issues: values that did not fit, by path, without the values.
CREATE TABLE _issues (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: record type.
  record VARCHAR NOT NULL,
  -- Key: path in the record.
  path VARCHAR NOT NULL,
  -- Key: the problem.
  issue VARCHAR NOT NULL,
  -- Declared type.
  declared VARCHAR,
  -- Type of the value.
  seen VARCHAR,
  -- Number of occurrences.
  occurrences BIGINT NOT NULL,
  -- Time of the first one.
  first_seen TIMESTAMPTZ NOT NULL,
  -- Time of the last one.
  last_seen TIMESTAMPTZ NOT NULL,
  -- A landed file with an example.
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
  -- Type of the value.
  seen VARCHAR NOT NULL,
  -- Number of occurrences.
  occurrences BIGINT NOT NULL,
  -- Time of the first one.
  first_seen TIMESTAMPTZ NOT NULL,
  -- Time of the last one.
  last_seen TIMESTAMPTZ NOT NULL,
  -- A landed file with an example.
  example_file VARCHAR NOT NULL
);

-- Records that could not be loaded, with file, element of its page, and reason. The landing has the record itself.
CREATE TABLE _quarantine (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Record type.
  record VARCHAR NOT NULL,
  -- Key: the landed file.
  file VARCHAR NOT NULL,
  -- Key: position in the page.
  element INTEGER NOT NULL,
  -- Reason why it could not be loaded, without values.
  reason VARCHAR NOT NULL,
  -- When it was quarantined.
  quarantined_at TIMESTAMPTZ NOT NULL
);

-- One row for each refresh without a new message, under `refreshOn: auto`. The results decide whether such refreshes are skipped.
CREATE TABLE _measured_refreshes (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: conversation id.
  conversation_id VARCHAR NOT NULL,
  -- Key: when it was requested, by the server's clock.
  requested_at TIMESTAMPTZ NOT NULL,
  -- Keys of the API's record whose values differ from the previous export, apart from keys that nobody analyzes. Includes keys that events carry.
  changed VARCHAR[] NOT NULL
);

-- Evidence of absence, so that `_missing_since` follows from the landed answers in any load order: one row for each requested id that
-- the answer lacks, each record that the vendor answered with 404, and each complete listing.
CREATE TABLE _absences (
  -- Workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Table of the absent record: conversations, agents, organizations or teams.
  record VARCHAR NOT NULL,
  -- The agent of a conversation, the organization of a team, '' for all others.
  owner VARCHAR NOT NULL,
  -- Id of the absent record. NULL for a complete listing: all records of that owner last seen before `before_at` are absent.
  id VARCHAR,
  -- gone; not exportable; unknown, if an answer does not distinguish the two.
  verdict VARCHAR NOT NULL,
  -- The landed file with the evidence.
  file VARCHAR NOT NULL,
  -- Records last seen before this time are gone.
  before_at TIMESTAMPTZ NOT NULL,
  -- Time since when the records are gone.
  since TIMESTAMPTZ NOT NULL,
  -- Changes before this time are covered by it.
  as_of TIMESTAMPTZ NOT NULL
);

-- The workspace's configuration at the last load. The reconciliation report needs its time zone to determine days.
CREATE TABLE _workspaces (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Its time zone, an IANA name.
  time_zone VARCHAR NOT NULL
);

-- Parts of a conversation that events carried and that are newer than its full record, one value per key.
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

-- One row for each sighting of a conversation. Changes and spend by day derive from it, in any order of arrival.
CREATE TABLE conversation_observations (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: conversation id.
  conversation_id VARCHAR NOT NULL,
  -- When it was seen: when the request was sent, or the event happened.
  observed_at TIMESTAMPTZ NOT NULL,
  -- export or webhook.
  source VARCHAR NOT NULL,
  -- The record's own last change, else `observed_at`. It orders the observations.
  version TIMESTAMPTZ NOT NULL,
  -- State (PII: word).
  state VARCHAR,
  -- Lead stage (PII: label).
  stage VARCHAR,
  -- Person to whom the chat was assigned (PII: staff).
  chat_assigned_to VARCHAR,
  -- True if it was resolved.
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
  -- Token usage by model, as sent (PII: content).
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
  -- Kind of the window that supplied the observation; NULL for an event.
  kind VARCHAR,
  -- The record's own `lastModified`, if it has one. Two observations without it cannot be distinguished.
  modified TIMESTAMPTZ,
  -- The observed columns that an event carried, including null values; NULL for an export, which carries all.
  reported VARCHAR[],
  -- Last message of the conversation at that time. Costs are booked on its day.
  last_message_ts TIMESTAMPTZ
);

-- One row. The change log tells consumers which changes to apply to their copies. Its epoch is random. Within an epoch,
-- the log has every change since `seq` = `trimmed_to`.
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
  -- Values of the table's key columns; for an observation also `observed_at`.
  key VARCHAR[] NOT NULL,
  -- First day of the UTC month that the row belonged to before the change: of `ts` (conversations), `observed_at` (observations) or `_as_of`
  -- (events). NULL without row or time, or for a table without partitions.
  partition_before DATE,
  -- insert, update or delete.
  op VARCHAR NOT NULL
);

-- Consumers of the log. Without consumers, nothing is logged.
CREATE TABLE _consumers (
  -- Key: name of the consumer.
  name VARCHAR NOT NULL,
  -- The last entry that it has applied. Later entries are kept for it, for seven days.
  seq BIGINT NOT NULL,
  -- When it was registered.
  registered_at TIMESTAMPTZ NOT NULL,
  -- When it last reported `seq`; NULL for never.
  acknowledged_at TIMESTAMPTZ
);
