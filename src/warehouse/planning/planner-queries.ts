// What the warehouse knows that a plan needs besides coverage: unfinished windows, how dense an agent's conversations are.
import { quoteText } from '../../catalog/layout.ts'
import type { Density } from '../../core/estimate.ts'
import { observedSince } from '../../core/planner.ts'
import type { recoverQuota } from '../../core/quota-recovery.ts'
import { backoffUntilMs } from '../../core/window-backoff.ts'
import type { WindowProgress } from '../../core/windows.ts'
import { iso, type Writer } from '../connection.ts'

/** Windows that were begun and not finished, oldest first. */
export async function openWindows(writer: Writer, workspaceId: string): Promise<WindowProgress[]> {
  const rows = await writer.rows<{ progress: string }>(
    `SELECT progress FROM _windows WHERE workspace_id = ${quoteText(workspaceId)} AND NOT done ORDER BY opened_at, "window"`,
  )
  return rows.map(row => JSON.parse(row.progress) as WindowProgress)
}

export interface PausedWindow {
  agentId: string
  window: string
  untilMs: number
}

/** Unfinished windows that rest. */
export async function pausedWindows(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<PausedWindow[]> {
  const begunAnew = await rows<{ progress: string; sent: string }>(
    `SELECT any_value(w.progress)::VARCHAR AS progress, epoch_ms(max(r.sent_at))::VARCHAR AS sent
     FROM _windows w JOIN _requests r USING (workspace_id, agent_id, "window")
     WHERE w.workspace_id = ${quoteText(workspaceId)} AND NOT w.done AND (w.progress->>'vain')::INTEGER > 0
     GROUP BY w.agent_id, w."window" ORDER BY w.agent_id, w."window"`,
  )
  return begunAnew.flatMap(({ progress, sent }) => {
    const read = JSON.parse(progress) as WindowProgress
    const untilMs = backoffUntilMs(read, Number(sent), nowMs)
    return untilMs === null ? [] : [{ agentId: read.window.agentId, window: read.window.name, untilMs }]
  })
}

/** Conversations a day and sessions a conversation of the last weeks, by agent. */
export async function densityByAgent(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<Map<string, Density>> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const since = `TIMESTAMP '${iso(observedSince(nowMs))}'`
  const now = `TIMESTAMP '${iso(nowMs)}'`
  const rows = await writer.rows<Record<'agentId' | 'days' | 'low' | 'high' | 'mean' | 'week' | 'sessions', string>>(`
    WITH daily AS (
      SELECT agent_id, ts::DATE AS day, count(*) AS n, count(*) FILTER (ts >= ${now} - INTERVAL 7 DAY) AS week, min(ts) AS first
      FROM conversations WHERE ${here} AND ts >= ${since} AND ts <= ${now} GROUP BY ALL),
    billed AS (
      SELECT agent_id, sum(billed) / nullif(sum(returned), 0) AS sessions FROM _windows WHERE ${here} GROUP BY agent_id)
    SELECT daily.agent_id AS "agentId", count(*)::VARCHAR AS days, min(n)::VARCHAR AS low, max(n)::VARCHAR AS high,
      (sum(n) / greatest(1, epoch(${now} - min(first)) / 86400))::VARCHAR AS mean, (sum(week) / 7)::VARCHAR AS week,
      coalesce(any_value(sessions), 1)::VARCHAR AS sessions
    FROM daily LEFT JOIN billed USING (agent_id) GROUP BY daily.agent_id`)
  return new Map(
    rows.map(({ agentId, ...row }) => [
      agentId,
      {
        // A day on which nobody wrote is no row: with fewer than all days seen, the fewest may be none.
        perDay: { low: Number(row.days) < 2 ? 0 : Number(row.low), high: Number(row.high) },
        // Where the last week was busier, what follows may be as well.
        newPerDay: Math.max(Number(row.mean), Number(row.week)),
        sessionsPerConversation: Math.max(1, Number(row.sessions)),
      },
    ]),
  )
}

/** Agents of the newest listing that is loaded. */
export async function knownAgents(
  writer: Writer,
  workspaceId: string,
): Promise<{ agentId: string; title: string | null }[]> {
  return writer.rows(
    `SELECT agent_id AS "agentId", title FROM agents WHERE workspace_id = ${quoteText(workspaceId)} AND _missing_since IS NULL ORDER BY agent_id`,
  )
}

/** Answers that are looked at: no period is that long. */
const PERIODS_WITHIN = 'INTERVAL 100 DAY'
/** What was sent within so much behind an answer may be in the usage that it reports. */
const MAY_INCLUDE = 'INTERVAL 2 MINUTE'

/** Of so many answers before, the most that was used is more than a period has that has just begun. */
const ANSWERS_BEFORE = 50

/** Agents that are marked as gone. */
export async function goneAgents({ rows }: Pick<Writer, 'rows'>, workspaceId: string): Promise<string[]> {
  const gone = await rows<{ id: string }>(
    `SELECT agent_id AS id FROM agents WHERE workspace_id = ${quoteText(workspaceId)} AND _missing_since IS NOT NULL`,
  )
  return gone.map(({ id }) => id)
}

/**
 * What the landed answers have reported of each period that is proved (`core/period.ts`), by when it was, and what the newest two
 * answers reported. Of a key under which no less was used than before nothing is proved by two answers: it may be of a period that is over. Sessions of others are at least what was reported less what our own answers had billed by then.
 */
export async function reportedPeriods(
  writer: Writer,
  workspaceId: string,
): Promise<Parameters<typeof recoverQuota>[0]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const told = `
    told AS (FROM _quota WHERE ${here} AND period_key IS NOT NULL
      AND told_at >= (SELECT max(told_at) FROM _quota WHERE ${here}) - ${PERIODS_WITHIN}),`
  const rows = await writer.rows<Record<string, string | null>>(
    `WITH ${told}
     requests AS (SELECT sent_at, duration_ms, billed_sessions FROM _requests
       WHERE ${here} AND sent_at >= (SELECT min(told_at) FROM told)),
     asked AS (SELECT t.*, t.told_at + to_milliseconds(coalesce(r.duration_ms, 0)) AS came,
         coalesce(lag(t.period_key) OVER moments <> t.period_key, true) AS changes,
         max(t.used_sessions) OVER (moments ROWS BETWEEN ${ANSWERS_BEFORE} PRECEDING AND 1 PRECEDING) AS used_before
       FROM told t ASOF LEFT JOIN requests r ON t.told_at >= r.sent_at WINDOW moments AS (ORDER BY t.told_at)),
     islands AS (SELECT *, sum(changes::INTEGER) OVER (ORDER BY told_at ROWS UNBOUNDED PRECEDING) AS island FROM asked),
     proofs AS (SELECT period_key, island, min(told_at) AS since FROM islands GROUP BY period_key, island
       HAVING count(*) > 1 AND max(told_at) >= arg_min(came, told_at)
         AND coalesce(min(used_sessions) < first(used_before ORDER BY told_at), true)),
     proved AS (SELECT period_key, min(since) AS since, false AS unproved FROM proofs GROUP BY period_key
       UNION ALL (SELECT period_key, told_at, true FROM told WHERE NOT EXISTS (FROM proofs) ORDER BY told_at LIMIT 1)),
     counts AS (
       SELECT period_key, told_at AS moment, used_sessions AS used, 0 AS billed FROM told
       UNION ALL SELECT t.period_key, r.sent_at, NULL, coalesce(r.billed_sessions, 0)
         FROM requests r ASOF JOIN told t ON r.sent_at >= t.told_at),
     own AS (SELECT period_key, used, billed, sum(billed) OVER (PARTITION BY period_key ORDER BY moment
         RANGE BETWEEN UNBOUNDED PRECEDING AND ${MAY_INCLUDE} FOLLOWING) AS own FROM counts),
     certain AS (SELECT period_key, sum(billed) + greatest(0, coalesce(max(used - own), 0)) AS sessions FROM own GROUP BY period_key)
     SELECT period_key, coalesce(max(t.used_sessions), 0)::VARCHAR AS used, any_value(c.sessions)::VARCHAR AS certain,
       arg_max(t.included_sessions, t.told_at)::VARCHAR AS included, coalesce(max(t.overage_sessions), 0)::VARCHAR AS overage,
       coalesce(max(t.overage_packs), 0)::VARCHAR AS packs, epoch_ms(any_value(p.since))::VARCHAR AS since, any_value(p.unproved)::VARCHAR AS unproved,
       epoch_ms(max(t.told_at))::VARCHAR AS told_at
     FROM told t JOIN proved p USING (period_key) JOIN certain c USING (period_key) GROUP BY period_key ORDER BY min(p.since)`,
  )
  const newest = await writer.rows<Record<string, string | null>>(
    `WITH ${told.replace(/,$/, '')} SELECT period_key, coalesce(used_sessions, 0)::VARCHAR AS used, epoch_ms(told_at)::VARCHAR AS told_at
     FROM told ORDER BY told_at DESC LIMIT 2`,
  )
  return {
    proved: rows.map(row => ({
      key: row.period_key!,
      unproved: row.unproved === 'true',
      usedSessions: Number(row.used),
      certainSessions: Number(row.certain),
      includedSessions: row.included === null ? null : Number(row.included),
      overageSessions: Number(row.overage),
      overagePacks: Number(row.packs),
      sinceMs: Number(row.since),
      reportedAtMs: Number(row.told_at),
    })),
    newest: newest.map(row => ({
      key: row.period_key!,
      usedSessions: Number(row.used),
      reportedAtMs: Number(row.told_at),
    })),
  }
}

/** When that key was first told of, ms; null where none was. */
export async function periodSinceMs(
  writer: Writer,
  workspaceId: string,
  periodKey: string | null,
): Promise<number | null> {
  if (periodKey === null) return null
  const [row] = await writer.rows<{ since: string | null }>(
    `SELECT epoch_ms(min(told_at))::VARCHAR AS since FROM _quota WHERE workspace_id = ${quoteText(workspaceId)} AND period_key = ${quoteText(periodKey)}`,
  )
  return row?.since == null ? null : Number(row.since)
}

/** Which agent each of these conversations belongs to; ids that are not known are absent. */
export async function agentsOfConversations(
  writer: Writer,
  workspaceId: string,
  ids: readonly string[],
): Promise<{ id: string; agentId: string }[]> {
  return writer.rows(
    `SELECT conversation_id AS id, agent_id AS "agentId" FROM conversations
     WHERE workspace_id = ${quoteText(workspaceId)} AND conversation_id IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`,
    [JSON.stringify(ids)],
  )
}
