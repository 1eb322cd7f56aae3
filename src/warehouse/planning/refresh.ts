// What the warehouse knows of conversations and stretches that may be worth reading again.
import { quoteText } from '../../catalog/layout.ts'
import type { ReadRange } from '../../core/rereads.ts'
import { MAX_CLOCK_SKEW_MS } from '../../core/time.ts'
import type { WindowProgress } from '../../core/windows.ts'
import { iso, type Writer } from '../connection.ts'

type Rows = Pick<Writer, 'rows'>

const at = (ms: number): string => `TIMESTAMP '${iso(ms)}'`

/**
 * Stretches that reach beyond `sinceMs` and skipped conversations that nothing else has brought, each by its newest reading:
 * what a later window has read again, or is reading, is left out. Besides them `others` heads that hide nothing: what enters
 * the mirror late may be anywhere.
 */
export async function hidingRanges(
  writer: Rows,
  workspaceId: string,
  options: { sinceMs: number; others: 'all' | number; seed: number },
): Promise<ReadRange[]> {
  const { sinceMs, others, seed } = options
  const here = `workspace_id = ${quoteText(workspaceId)} AND to_at >= ${at(sinceMs)}`
  const limit = others === 'all' ? '' : `LIMIT ${others}`
  const rows = await writer.rows<Record<keyof ReadRange, string>>(`
    WITH again AS (SELECT agent_id, from_at, to_at, opened_at FROM _windows WHERE ${here} AND kind IN ('full', 'reread')),
    newest AS (
      SELECT * FROM _requests r WHERE ${here} AND NOT EXISTS (
        SELECT 1 FROM again w WHERE w.agent_id = r.agent_id AND w.opened_at > r.sent_at AND w.to_at >= r.to_at
          AND coalesce(w.from_at <= r.from_at, w.from_at IS NULL))),
    untold AS MATERIALIZED (
      SELECT agent_id, ts FROM conversations c WHERE workspace_id = ${quoteText(workspaceId)} AND ts >= ${at(sinceMs)}
        AND NOT EXISTS (SELECT 1 FROM conversation_observations o
          WHERE o.workspace_id = c.workspace_id AND o.agent_id = c.agent_id AND o.conversation_id = c.conversation_id
            AND o.source = 'export' AND o.observed_at >= ${at(sinceMs)} AND coalesce(o.kind, '') NOT IN ('selected', 'refresh', 'sample'))),
    told AS (
      SELECT n.file, count(*) AS told FROM newest n JOIN untold c
        ON c.agent_id = n.agent_id AND c.ts < n.to_at + INTERVAL 1 SECOND AND c.ts >= coalesce(n.from_at, '-infinity'::TIMESTAMP)
      WHERE n.scanned > n.returned GROUP BY n.file),
    known AS (
      SELECT n.*, coalesce(t.told, 0) AS told, n.scanned - n.returned - coalesce(t.told, 0) AS hidden FROM newest n LEFT JOIN told t USING (file)),
    chosen AS (
      FROM known WHERE hidden > 0
      UNION ALL
      (FROM known WHERE hidden <= 0 AND kind = 'head' ORDER BY hash(file, ${seed}) ${limit}))
    SELECT agent_id AS "agentId", epoch(from_at)::BIGINT::VARCHAR AS "fromSec", epoch(to_at)::BIGINT::VARCHAR AS "toSec",
      epoch_ms(sent_at)::VARCHAR AS "readAtMs", scanned::VARCHAR AS scanned, returned::VARCHAR AS returned,
      told::VARCHAR AS "knownFromEvents", coalesce(billed_sessions, returned)::VARCHAR AS sessions
    FROM chosen ORDER BY agent_id, to_at, file`)
  return rows.map(row => ({
    agentId: row.agentId,
    fromSec: row.fromSec === null ? null : Number(row.fromSec),
    toSec: Number(row.toSec),
    readAtMs: Number(row.readAtMs),
    scanned: Number(row.scanned),
    returned: Number(row.returned),
    knownFromEvents: Number(row.knownFromEvents),
    sessions: Number(row.sessions),
  }))
}

/** Sessions that re-reads have billed since then. */
export async function billedByRereads(writer: Rows, workspaceId: string, sinceMs: number): Promise<number> {
  const [row] = await writer.rows<{ billed: string }>(
    `SELECT coalesce(sum(billed), 0)::VARCHAR AS billed FROM _windows
     WHERE workspace_id = ${quoteText(workspaceId)} AND kind = 'reread' AND opened_at >= ${at(sinceMs)}`,
  )
  return Number(row?.billed ?? 0)
}

/**
 * True where conversations have come to light behind what had been read, more than had been skipped there: some of them
 * entered the mirror late.
 */
export async function lateRowsSeen(writer: Rows, workspaceId: string, sinceMs: number): Promise<boolean> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  // The view asks all observations: not worth it before anything was read again.
  const again = `SELECT 1 FROM _windows WHERE ${here} AND kind = 'reread' AND opened_at >= ${at(sinceMs)} LIMIT 1`
  if ((await writer.rows(again)).length === 0) return false
  return (
    (await writer.rows(`SELECT 1 FROM late_rows WHERE ${here} AND read_again_at >= ${at(sinceMs)} LIMIT 1`)).length > 0
  )
}

/** Fewer conversations than this tell nothing of what `ts` is. */
const ENOUGH = 20

/**
 * True where `ts` is seen to be the last activity: then whoever a person writes to comes into the next head by itself.
 * False where it is the first message, and where nothing can be said.
 */
export async function isTsLastActivity(writer: Rows, workspaceId: string, sinceMs: number): Promise<boolean> {
  const [row] = await writer.rows<{ told: number; moved: number }>(`
    SELECT count(*)::INTEGER AS told,
      count(*) FILTER (abs(epoch(ts - last_message_ts)) < abs(epoch(ts - first_message_ts)))::INTEGER AS moved
    FROM conversations WHERE workspace_id = ${quoteText(workspaceId)} AND ts >= ${at(sinceMs)} AND _complete
      AND last_message_ts > first_message_ts + INTERVAL 1 HOUR`)
  return row !== undefined && row.told >= ENOUGH && row.moved > row.told * 0.9
}

export interface ConversationKey {
  agentId: string
  id: string
}

/** A comma parts ids in a request: such an id cannot be asked for. */
const CAN_BE_ASKED = `NOT contains(conversation_id, ',')`

const idsWhere = (
  writer: Rows,
  workspaceId: string,
  { where, order, limit }: { where: string; order: string; limit: number | null },
): Promise<ConversationKey[]> =>
  writer.rows(`SELECT agent_id AS "agentId", conversation_id AS id FROM conversations
    WHERE workspace_id = ${quoteText(workspaceId)} AND ${CAN_BE_ASKED} AND ${where}
    ORDER BY ${order}, agent_id, conversation_id ${limit === null ? '' : `LIMIT ${limit}`}`)

/** What no export has brought yet comes with the next one, unless that has been by. */
const WAS_PASSED = `(_complete OR EXISTS (SELECT 1 FROM _covered v WHERE v.workspace_id = conversations.workspace_id
  AND v.agent_id = conversations.agent_id AND epoch(coalesce(ts, _as_of)) BETWEEN v.from_sec AND v.to_sec))`

/** What the vendor works out from messages (sessions, costs, metrics) is there by so long after the last of them. */
const WORKED_OUT = 'INTERVAL 1 HOUR'

/**
 * An event that is as new as the change told when the last message was, and the copy was exported later than that and what follows
 * from it: the event told all that has changed.
 */
const WAS_TOLD = `coalesce(_complete AND last_message_ts + ${WORKED_OUT} <= _as_of AND EXISTS (
  SELECT 1 FROM conversation_patches p WHERE p.workspace_id = conversations.workspace_id AND p.agent_id = conversations.agent_id
    AND p.conversation_id = conversations.conversation_id AND p.key = 'lastMessageTS' AND p.as_of >= _dirty_since), false)`

/** Conversations that have been dirty since before `beforeMs`, longest first. `toldIsEnough`: but those of which events told all. */
export const dirtyIds = (
  writer: Rows,
  workspaceId: string,
  options: { beforeMs: number; toldIsEnough: boolean; limit: number },
): Promise<ConversationKey[]> =>
  idsWhere(writer, workspaceId, {
    where: `(_missing_since IS NULL OR _missing_since < _dirty_since) AND _dirty_since <= ${at(options.beforeMs)} AND ${WAS_PASSED}
      ${options.toldIsEnough ? `AND NOT ${WAS_TOLD}` : ''}`,
    order: '_dirty_since',
    limit: options.limit,
  })

/** A time of the record that lies ahead of all that was heard of it is no sign of life. */
const heard = (column: string): string =>
  `CASE WHEN ${column} <= greatest(_fetched_at, _dirty_since) + INTERVAL ${MAX_CLOCK_SKEW_MS} MILLISECOND THEN ${column} END`
const LAST_SIGN = `greatest(${['ts', 'last_message_ts', 'last_modified'].map(heard).join(', ')})`

/** False for what was looked at and not exported, unless it has changed since. */
const MAY_BE_EXPORTED = '(_not_exportable_since IS NULL OR coalesce(_not_exportable_since < _dirty_since, false))'

/** Conversations whose last sign of life is not before `activeSinceMs`, of which the copy was read before `readBeforeMs`; newest first. */
export const agedIds = (
  writer: Rows,
  workspaceId: string,
  options: { activeSinceMs: number; readBeforeMs: number },
): Promise<ConversationKey[]> =>
  idsWhere(writer, workspaceId, {
    where: `_missing_since IS NULL AND ${MAY_BE_EXPORTED} AND ${LAST_SIGN} >= ${at(options.activeSinceMs)}
      AND (_fetched_at <= ${at(options.readBeforeMs)} OR NOT _complete)`,
    order: `${LAST_SIGN} DESC`,
    limit: null,
  })

/** So many conversations at random, of those whose copy was read before `readBeforeMs` and is not known to be stale. */
export const randomIds = (
  writer: Rows,
  workspaceId: string,
  options: { readBeforeMs: number; count: number; seed: number },
): Promise<ConversationKey[]> =>
  idsWhere(writer, workspaceId, {
    where: `_complete AND _missing_since IS NULL AND _not_exportable_since IS NULL AND _dirty_since IS NULL AND _fetched_at <= ${at(options.readBeforeMs)}`,
    order: `hash(conversation_id, ${options.seed})`,
    limit: options.count,
  })

/** When a sample was last begun, ms; null: never. */
export async function lastSampledMs(writer: Rows, workspaceId: string): Promise<number | null> {
  const [row] = await writer.rows<{ at: string | null }>(
    `SELECT epoch_ms(max(opened_at))::VARCHAR AS at FROM _windows
     WHERE workspace_id = ${quoteText(workspaceId)} AND kind = 'sample'`,
  )
  return row?.at == null ? null : Number(row.at)
}

/** Conversations that refreshes which were begun since then have asked for. */
export async function refreshedSince(writer: Rows, workspaceId: string, sinceMs: number): Promise<ConversationKey[]> {
  const rows = await writer.rows<{ progress: string }>(
    `SELECT progress FROM _windows WHERE workspace_id = ${quoteText(workspaceId)} AND kind = 'refresh' AND opened_at >= ${at(sinceMs)}`,
  )
  return rows.flatMap(row => {
    const { window, asked } = JSON.parse(row.progress) as WindowProgress
    return (window.ids ?? []).slice(0, asked).map(id => ({ agentId: window.agentId, id }))
  })
}
