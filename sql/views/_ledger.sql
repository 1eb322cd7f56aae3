-- _ledger: the conversations that the vendor scanned, compared with those in the tables. One row for each workspace, agent and day.
--
-- A day is that of the conversation's `ts` in the workspace's time zone; conversations without `ts` are in a row without a day.
--
-- A row that differs from the vendor's record counts in one of incomplete, known_stale, missing and not_exportable. A row that has changed
-- since it was requested by id is requested again, so it counts neither as missing nor as not_exportable.
--
-- The vendor reports how many conversations a page skipped, not which. They count on the newest day on which they may lie, so a page
-- that spans midnight may count them a day late, never early. Only the newest reading of a range counts: a page is superseded when
-- one later, finished window of a second reading (full, reread) covers all of it, and the pages of a second reading count once it is
-- finished. An unanswered id of a page by id is `missing`, not skipped. Neighbouring pages share a second, so conversations skipped
-- in that second may count twice. So `skipped` is an upper bound of what may still be hidden.
--
-- Takes 0.65 s of processor time with 1 M conversations and 1.8 M pages, of which 560,000 skipped some. Time zones are applied to
-- distinct quarters of an hour, at which the days of every zone begin, not to rows (grouping rows by quarter took 1.6 s), and
-- superseded pages are found by the day in which they end.
-- Columns:
--   workspace_id    VARCHAR  none  Workspace
--   agent_id        VARCHAR  none  Agent
--   day             DATE     none  Day of `ts` in the workspace's time zone; NULL: conversations without `ts`
--   scanned         BIGINT   none  Scanned by the vendor: returned and skipped
--   returned        BIGINT   none  Returned by the export: held and quarantined
--   skipped         BIGINT   none  Scanned and not returned, since no person had written in them; they bill nothing
--   held            BIGINT   none  Complete rows
--   quarantined     BIGINT   none  Returned, and could not be loaded; see _quarantine
--   incomplete      BIGINT   none  Rows that only events have mentioned, and that may be exported
--   seen_in_events  BIGINT   none  Rows that events have mentioned, whether complete or not
--   known_stale     BIGINT   none  Complete rows that are known to have changed since they were exported, and that may be exported again
--   missing         BIGINT   none  Rows that were requested by id later, and are gone at the vendor
--   not_exportable  BIGINT   none  Rows that were requested by id later, scanned and not returned, since no person has written in them
--   hidden_behind   BIGINT   none  Sessions billed by the pages that skipped conversations: roughly what reading those pages again would bill
CREATE OR REPLACE VIEW _ledger AS
WITH second_readings AS MATERIALIZED (
  SELECT workspace_id, agent_id, window_name, opened_at, coalesce(from_at, TIMESTAMPTZ '-infinity') AS from_at, to_at
  FROM _windows WHERE done AND kind IN ('full', 'reread')
),
-- A reading of years would span thousands of days. There are few of these, so they are joined without the day.
long_readings AS (FROM second_readings WHERE from_at < to_at - INTERVAL 744 HOUR),
readings_by_day AS (
  SELECT *, unnest(range(epoch(from_at)::BIGINT // 86400, epoch(to_at)::BIGINT // 86400 + 1)) AS reaches
  FROM second_readings WHERE from_at >= to_at - INTERVAL 744 HOUR
),
skipping AS (
  SELECT workspace_id, agent_id, window_name, kind, sent_at, coalesce(from_at, TIMESTAMPTZ '-infinity') AS from_at, to_at,
    scanned - returned AS skipped, coalesce(billed_sessions, returned) AS billed
  FROM _requests WHERE scanned > returned AND to_at IS NOT NULL
),
counted AS (
  FROM skipping WHERE kind IN ('head', 'tail')
  UNION ALL
  FROM skipping SEMI JOIN second_readings USING (workspace_id, agent_id, window_name) WHERE kind NOT IN ('head', 'tail')
),
pages AS (
  SELECT p.* FROM counted p
  ANTI JOIN readings_by_day w
    ON w.workspace_id = p.workspace_id AND w.agent_id = p.agent_id AND w.reaches = epoch(p.to_at)::BIGINT // 86400
    AND w.opened_at > p.sent_at AND w.to_at >= p.to_at AND w.from_at <= p.from_at
  ANTI JOIN long_readings l
    ON l.workspace_id = p.workspace_id AND l.agent_id = p.agent_id
    AND l.opened_at > p.sent_at AND l.to_at >= p.to_at AND l.from_at <= p.from_at
),
unreadable AS (
  SELECT q.workspace_id, r.agent_id, r.to_at
  FROM _quarantine q JOIN _requests r ON r.workspace_id = q.workspace_id AND r.file = q.file
  WHERE q.record = 'conversation'
),
in_events AS (
  SELECT workspace_id, agent_id, conversation_id FROM conversation_observations WHERE source <> 'export'
  UNION
  SELECT workspace_id, agent_id, conversation_id FROM conversation_patches
  UNION
  SELECT workspace_id, agent_id, conversation_id FROM webhook_events WHERE conversation_id IS NOT NULL
),
-- `quarter` counts quarters of an hour since the epoch.
days AS MATERIALIZED (
  SELECT workspace_id, quarter,
    (make_timestamptz(quarter * 900000000) AT TIME ZONE coalesce(time_zone, 'UTC'))::DATE AS day
  FROM (
    SELECT workspace_id, epoch_us(ts) // 900000000 AS quarter FROM conversations WHERE ts IS NOT NULL
    UNION SELECT workspace_id, epoch_us(to_at) // 900000000 FROM _requests WHERE scanned > returned AND to_at IS NOT NULL
    UNION SELECT workspace_id, epoch_us(to_at) // 900000000 FROM unreadable WHERE to_at IS NOT NULL
  ) LEFT JOIN _workspaces USING (workspace_id)
),
resolved AS (
  SELECT workspace_id, agent_id, conversation_id, ts, _complete, _dirty_since, CASE
    WHEN _missing_since IS NOT NULL AND coalesce(_dirty_since <= _missing_since, true) THEN 'gone'
    WHEN _not_exportable_since IS NOT NULL AND coalesce(_dirty_since <= _not_exportable_since, true) THEN 'not exportable'
    ELSE 'there' END AS fate
  FROM conversations
),
entries AS (
  SELECT c.workspace_id, c.agent_id, d.day,
    count(*) FILTER (c._complete) AS held,
    count(*) FILTER (c._complete IS DISTINCT FROM true AND c.fate = 'there') AS incomplete,
    count(t.conversation_id) AS seen_in_events,
    count(*) FILTER (c._complete AND c._dirty_since IS NOT NULL AND c.fate = 'there') AS known_stale,
    count(*) FILTER (c.fate = 'gone') AS missing, count(*) FILTER (c.fate = 'not exportable') AS not_exportable,
    0 AS skipped, 0 AS hidden_behind, 0 AS quarantined
  FROM resolved c
  LEFT JOIN days d ON d.workspace_id = c.workspace_id AND d.quarter = epoch_us(c.ts) // 900000000
  LEFT JOIN in_events t
    ON t.workspace_id = c.workspace_id AND t.agent_id = c.agent_id AND t.conversation_id = c.conversation_id
  GROUP BY ALL
  UNION ALL
  SELECT p.workspace_id, p.agent_id, d.day, 0, 0, 0, 0, 0, 0, sum(p.skipped), sum(p.billed), 0
  FROM pages p JOIN days d ON d.workspace_id = p.workspace_id AND d.quarter = epoch_us(p.to_at) // 900000000
  GROUP BY ALL
  UNION ALL
  SELECT u.workspace_id, u.agent_id, d.day, 0, 0, 0, 0, 0, 0, 0, 0, count(*)
  FROM unreadable u LEFT JOIN days d ON d.workspace_id = u.workspace_id AND d.quarter = epoch_us(u.to_at) // 900000000
  GROUP BY ALL
)
SELECT
  workspace_id, agent_id, day,
  sum(held + quarantined + skipped)::BIGINT AS scanned,
  sum(held + quarantined)::BIGINT AS returned,
  sum(skipped)::BIGINT AS skipped,
  sum(held)::BIGINT AS held,
  sum(quarantined)::BIGINT AS quarantined,
  sum(incomplete)::BIGINT AS incomplete,
  sum(seen_in_events)::BIGINT AS seen_in_events,
  sum(known_stale)::BIGINT AS known_stale,
  sum(missing)::BIGINT AS missing,
  sum(not_exportable)::BIGINT AS not_exportable,
  sum(hidden_behind)::BIGINT AS hidden_behind
FROM entries GROUP BY workspace_id, agent_id, day;
