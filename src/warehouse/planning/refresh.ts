// Conversations and ranges of `ts` that may be worth exporting again.
import { quoteText } from '../../catalog/layout.ts'
import type { ConversationKey } from '../../core/planning/id-windows.ts'
import type { ActiveConversations } from '../../core/planning/planner.ts'
import { MEASURED_ONE_IN, type MeasuredRefreshes, skipsKnown } from '../../core/planning/refresh-rule.ts'
import type { ReadRange } from '../../core/planning/rereads.ts'
import { DAY, MAX_CLOCK_SKEW_MS } from '../../core/time.ts'
import { iso, type Params, type Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'

type Reader = Pick<Writer, 'rows'>

/**
 * Returns ranges since `sinceMs` that may hide conversations, each by its newest reading, and `others` head windows
 * that hide none, since late conversations may be in any range. Returns none if conversations since `evidenceSinceMs`
 * show that `ts` is the last activity: ongoing ones then appear in the next head window.
 */
export async function hidingRanges(
  reader: Reader,
  workspaceId: string,
  options: { sinceMs: number; evidenceSinceMs: number; others: 'all' | number; seed: number },
): Promise<ReadRange[]> {
  const { sinceMs, evidenceSinceMs, others, seed } = options
  const params = { workspace: workspaceId, since: iso(sinceMs), others: others === 'all' ? null : others, seed }
  const ranges = await reader.rows<ReadRange>(sqlFile('planning/hiding_ranges'), params)
  return ranges.length > 0 && (await isTsLastActivity(reader, workspaceId, evidenceSinceMs)) ? [] : ranges
}

/** Returns ranges that may hide conversations because pages shifted since `sinceMs` (ADR 6), and that were not read again. */
export async function shiftedRanges(
  reader: Reader,
  workspaceId: string,
  { sinceMs, mirrorLagMs }: { sinceMs: number; mirrorLagMs: number },
): Promise<ReadRange[]> {
  const params = { workspace: workspaceId, since: iso(sinceMs) }
  // The query reads all observations, and only windows with several pages can shift.
  const several = await reader.rows(
    `SELECT 1 FROM _windows WHERE workspace_id = $workspace AND pages > 1 AND opened_at >= $since::TIMESTAMPTZ LIMIT 1`,
    params,
  )
  if (several.length === 0) return []
  return reader.rows(sqlFile('planning/shifted_ranges'), { ...params, lag: mirrorLagMs / 1_000 })
}

/** Returns the sessions billed by re-reads that began since `sinceMs`. */
export async function billedByRereads(reader: Reader, workspaceId: string, sinceMs: number): Promise<number> {
  const [row] = await reader.rows<{ billed: number }>(
    `SELECT coalesce(sum(billed), 0)::DOUBLE AS billed FROM _windows
     WHERE workspace_id = $workspace AND kind = 'reread' AND opened_at >= $since::TIMESTAMPTZ`,
    { workspace: workspaceId, since: iso(sinceMs) },
  )
  return row!.billed
}

/** True if re-reads since `sinceMs` found more conversations in a range than were skipped there: some entered the mirror late. */
export async function lateRowsSeen(reader: Reader, workspaceId: string, sinceMs: number): Promise<boolean> {
  const params = { workspace: workspaceId, since: iso(sinceMs) }
  // The view reads all observations, so it is queried only after a range has been read again.
  const rereads = await reader.rows(
    `SELECT 1 FROM _windows WHERE workspace_id = $workspace AND kind = 'reread' AND opened_at >= $since::TIMESTAMPTZ LIMIT 1`,
    params,
  )
  if (rereads.length === 0) return false
  const late = await reader.rows(
    'SELECT 1 FROM late_rows WHERE workspace_id = $workspace AND read_again_at >= $since::TIMESTAMPTZ LIMIT 1',
    params,
  )
  return late.length > 0
}

/** Minimum number of conversations that show the meaning of `ts`. */
const ENOUGH = 20

/**
 * True if the stored conversations show that `ts` is the time of the last activity. False if it is the time of the
 * first message, or if too few conversations show it.
 */
async function isTsLastActivity(reader: Reader, workspaceId: string, sinceMs: number): Promise<boolean> {
  const [row] = await reader.rows<{ seen: number; moved: number }>(
    `SELECT count(*)::INTEGER AS seen,
      count(*) FILTER (abs(epoch(ts - last_message_ts)) < abs(epoch(ts - first_message_ts)))::INTEGER AS moved
    FROM conversations WHERE workspace_id = $workspace AND ts >= $since::TIMESTAMPTZ AND _complete
      AND last_message_ts > first_message_ts + INTERVAL 1 HOUR`,
    { workspace: workspaceId, since: iso(sinceMs) },
  )
  return row !== undefined && row.seen >= ENOUGH && row.moved > row.seen * 0.9
}

const idsWhere = (
  reader: Reader,
  params: Params & { workspace: string },
  { where, order, limit = null }: { where: string; order: string; limit?: number | null },
): Promise<ConversationKey[]> =>
  // A comma separates ids in a request, so an id with a comma cannot be requested.
  reader.rows(
    `SELECT agent_id AS "agentId", conversation_id AS id FROM conversations
    WHERE workspace_id = $workspace AND NOT contains(conversation_id, ',') AND ${where}
    ORDER BY ${order}, agent_id, conversation_id LIMIT $limit`,
    { ...params, limit },
  )

/** False for a conversation that no export has returned and that the next window will return. */
const IS_COVERED = `(_complete OR EXISTS (SELECT 1 FROM _covered v WHERE v.workspace_id = conversations.workspace_id
  AND v.agent_id = conversations.agent_id AND epoch(coalesce(ts, _as_of)) BETWEEN v.from_sec AND v.to_sec))`

/**
 * True if patches contain all changes: an event as new as the change carried the last message, and the copy was
 * exported at least an hour after that message, when the vendor had derived sessions, costs and metrics from it.
 */
const IS_KNOWN_FROM_EVENTS = `coalesce(_complete AND last_message_ts + INTERVAL 1 HOUR <= _as_of AND EXISTS (
  SELECT 1 FROM conversation_patches p WHERE p.workspace_id = conversations.workspace_id AND p.agent_id = conversations.agent_id
    AND p.conversation_id = conversations.conversation_id AND p.key = 'lastMessageTS' AND p.as_of >= _dirty_since), false)`

/** False for conversations that are gone, and for those that the next window will return. */
const MAY_BE_DUE = `(_missing_since IS NULL OR _missing_since < _dirty_since) AND ${IS_COVERED}`

/**
 * Returns conversations that became dirty before `beforeMs`, oldest first. `skipKnown` omits those whose changes events
 * have carried. `knownOneIn` selects only one in that many of these, by the conversation and its last change.
 */
export const dirtyIds = (
  reader: Reader,
  workspaceId: string,
  options: { beforeMs: number; skipKnown: boolean; knownOneIn?: number; limit: number },
): Promise<ConversationKey[]> => {
  const { beforeMs, skipKnown, knownOneIn, limit } = options
  const one = `AND ${IS_KNOWN_FROM_EVENTS} AND hash(conversation_id, _dirty_since) % ${knownOneIn} = 0`
  const which = knownOneIn === undefined ? (skipKnown ? `AND NOT ${IS_KNOWN_FROM_EVENTS}` : '') : one
  const where = `_dirty_since <= $before::TIMESTAMPTZ AND ${MAY_BE_DUE} ${which}`
  return idsWhere(reader, { workspace: workspaceId, before: iso(beforeMs) }, { where, order: '_dirty_since', limit })
}

/** Returns the SQL of a time of the record; NULL if it is later than all data received about the conversation, and so wrong. */
const plausible = (column: string): string =>
  `CASE WHEN ${column} <= greatest(_fetched_at, _dirty_since) + INTERVAL ${MAX_CLOCK_SKEW_MS} MILLISECOND THEN ${column} END`
const LAST_ACTIVITY = `greatest(${['ts', 'last_message_ts', 'last_modified'].map(plausible).join(', ')})`

/** False for a conversation that the vendor looked up but did not export, unless it has changed since. */
const MAY_BE_EXPORTED = '(_not_exportable_since IS NULL OR coalesce(_not_exportable_since < _dirty_since, false))'

/** Returns conversations active since `activeSinceMs` whose copy is incomplete or from before `readBeforeMs`, latest first. */
export const agedIds = (
  reader: Reader,
  workspaceId: string,
  { activeSinceMs, readBeforeMs }: { activeSinceMs: number; readBeforeMs: number },
): Promise<ConversationKey[]> =>
  idsWhere(
    reader,
    { workspace: workspaceId, active: iso(activeSinceMs), before: iso(readBeforeMs) },
    {
      where: `_missing_since IS NULL AND ${MAY_BE_EXPORTED} AND ${LAST_ACTIVITY} >= $active::TIMESTAMPTZ
      AND (_fetched_at <= $before::TIMESTAMPTZ OR NOT _complete)`,
      order: `${LAST_ACTIVITY} DESC`,
    },
  )

/** Returns `count` random conversations whose copy was read before `readBeforeMs` and is not known to be stale. */
export const randomIds = (
  reader: Reader,
  workspaceId: string,
  { readBeforeMs, count, seed }: { readBeforeMs: number; count: number; seed: number },
): Promise<ConversationKey[]> =>
  idsWhere(
    reader,
    { workspace: workspaceId, before: iso(readBeforeMs), seed },
    {
      where: `_complete AND _missing_since IS NULL AND _not_exportable_since IS NULL AND _dirty_since IS NULL
      AND _fetched_at <= $before::TIMESTAMPTZ`,
      order: 'hash(conversation_id, $seed)',
      limit: count,
    },
  )

/** Returns when the last sample began, ms; null if there was none. */
export async function lastSampledMs(reader: Reader, workspaceId: string): Promise<number | null> {
  const [row] = await reader.rows<{ at: number | null }>(
    `SELECT epoch_ms(max(opened_at))::DOUBLE AS at FROM _windows WHERE workspace_id = $workspace AND kind = 'sample'`,
    { workspace: workspaceId },
  )
  return row!.at
}

/**
 * Returns, by agent, conversations that no export has returned and that events show as active: changed within the last hour,
 * and begun within the last six. Waiting saves exporting them twice. Without events there are none, so nothing waits.
 */
export const activeConversations = (
  { rows }: Reader,
  workspaceId: string,
  nowMs: number,
): Promise<({ agentId: string } & ActiveConversations)[]> =>
  rows(
    `SELECT agent_id AS "agentId", floor(epoch(min(coalesce(ts, first_message_ts))))::DOUBLE AS "sinceSec", count(*)::INTEGER AS conversations
     FROM conversations, (SELECT TIMESTAMPTZ '${iso(nowMs)}' AS now) WHERE workspace_id = ${quoteText(workspaceId)} AND NOT ${IS_COVERED}
       AND _missing_since IS NULL AND _changed_at > now - INTERVAL 1 HOUR AND least(ts, first_message_ts) BETWEEN now - INTERVAL 6 HOUR AND now
     GROUP BY agent_id ORDER BY agent_id`,
  )

/**
 * Returns the measured refreshes; null if none was measured, or if no event has reported a message, so that none is due.
 * Events carry the keys of the row, so a refresh finds nothing new in them. `quietMs`: time without a change before a refresh.
 */
export async function measuredRefreshes(
  { rows }: Reader,
  workspaceId: string,
  { nowMs, quietMs }: { nowMs: number; quietMs: number },
): Promise<MeasuredRefreshes | null> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const [row] = await rows<{ found: string | null }>(
    `WITH carried AS (
       SELECT list(DISTINCT key) AS keys FROM conversation_patches WHERE ${here} HAVING bool_or(key = 'lastMessageTS'))
     SELECT string_agg(if(list_has_all(keys, changed), '0', '1'), '' ORDER BY requested_at, agent_id, conversation_id) AS found
     FROM _measured_refreshes, carried WHERE ${here}`,
  )
  if (row?.found == null) return null
  const found = [...row.found].map(digit => digit === '1')
  const skips = skipsKnown(found)
  const [due] = await rows<{ sessions: number }>(
    `SELECT coalesce(sum(greatest(sessions_num, 1)), 0)::INTEGER AS sessions FROM conversations WHERE ${here} AND ${MAY_BE_DUE}
     AND ${IS_KNOWN_FROM_EVENTS} AND _dirty_since BETWEEN TIMESTAMPTZ '${iso(nowMs - 30 * DAY)}' AND TIMESTAMPTZ '${iso(nowMs - quietMs)}'`,
  )
  const savedSessions = skips ? Math.round(due!.sessions * (1 - 1 / MEASURED_ONE_IN)) : 0
  return { measured: found.length, changed: found.filter(Boolean).length, skips, savedSessions }
}
