// What the warehouse knows that a plan needs besides coverage: unfinished windows, how dense an agent's conversations are.
import { quoteText } from '../catalog/layout.ts'
import type { Density } from '../core/estimate.ts'
import type { PeriodTold } from '../core/period.ts'
import { observedSince } from '../core/planner.ts'
import { restsUntil } from '../core/resting.ts'
import type { WindowProgress } from '../core/windows.ts'
import { iso, type Writer } from './connection.ts'

/** Windows that were begun and not finished, oldest first. */
export async function openWindows(writer: Writer, workspaceId: string): Promise<WindowProgress[]> {
  const rows = await writer.rows<{ progress: string }>(
    `SELECT progress FROM _windows WHERE workspace_id = ${quoteText(workspaceId)} AND NOT done ORDER BY opened_at, "window"`,
  )
  return rows.map(row => JSON.parse(row.progress) as WindowProgress)
}

export interface RestingWindow {
  agentId: string
  window: string
  untilMs: number
}

/** Unfinished windows that rest. */
export async function restingWindows(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<RestingWindow[]> {
  const begunAnew = await rows<{ progress: string; sent: string }>(
    `SELECT any_value(w.progress)::VARCHAR AS progress, epoch_ms(max(r.sent_at))::VARCHAR AS sent
     FROM _windows w JOIN _requests r USING (workspace_id, agent_id, "window")
     WHERE w.workspace_id = ${quoteText(workspaceId)} AND NOT w.done AND (w.progress->>'vain')::INTEGER > 0
     GROUP BY w.agent_id, w."window" ORDER BY w.agent_id, w."window"`,
  )
  return begunAnew.flatMap(({ progress, sent }) => {
    const read = JSON.parse(progress) as WindowProgress
    const untilMs = restsUntil(read, Number(sent), nowMs)
    return untilMs === null ? [] : [{ agentId: read.window.agentId, window: read.window.name, untilMs }]
  })
}

/** Conversations a day and sessions a conversation of the last weeks, by agent. */
export async function densityByAgent(
  writer: Writer,
  workspaceId: string,
  nowMs: number,
): Promise<Map<string, Density>> {
  const since = `TIMESTAMP '${iso(observedSince(nowMs))}'`
  const rows = await writer.rows<{
    agent_id: string
    days: number
    low: number
    high: number
    sessions: number | null
  }>(`
    WITH daily AS (
      SELECT agent_id, ts::DATE AS day, count(*) AS n FROM conversations
      WHERE workspace_id = ${quoteText(workspaceId)} AND ts >= ${since} GROUP BY ALL),
    billed AS (
      SELECT agent_id, sum(billed) / nullif(sum(returned), 0) AS sessions FROM _windows
      WHERE workspace_id = ${quoteText(workspaceId)} GROUP BY agent_id)
    SELECT daily.agent_id, count(*)::INTEGER AS days, min(n)::INTEGER AS low, max(n)::INTEGER AS high, any_value(sessions) AS sessions
    FROM daily LEFT JOIN billed USING (agent_id) GROUP BY daily.agent_id`)
  return new Map(
    rows.map(row => [
      row.agent_id,
      // A day on which nobody wrote is no row: with fewer than all days seen, the fewest may be none.
      {
        perDay: { low: row.days < 2 ? 0 : row.low, high: row.high },
        sessionsPerConversation: Math.max(1, Number(row.sessions ?? 1)),
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

/** Answers that say which period runs: a few of them may tell of an old one by mistake. */
const NEWEST_ANSWERS = 10

/** What was told of each period, by when it was told first. */
export async function periodsTold(writer: Writer, workspaceId: string): Promise<PeriodTold[]> {
  const told = `FROM _quota WHERE workspace_id = ${quoteText(workspaceId)} AND period_key IS NOT NULL`
  const rows = await writer.rows<Record<string, string | null>>(
    `WITH newest AS (SELECT period_key ${told} ORDER BY told_at DESC LIMIT ${NEWEST_ANSWERS})
     SELECT period_key, (SELECT count(*) FROM newest WHERE newest.period_key = _quota.period_key)::VARCHAR AS recent,
       coalesce(max(used_sessions), 0)::VARCHAR AS used, arg_max(included_sessions, told_at)::VARCHAR AS included,
       coalesce(max(overage_sessions), 0)::VARCHAR AS overage, coalesce(max(overage_packs), 0)::VARCHAR AS packs,
       epoch_ms(max(told_at))::VARCHAR AS told_at
     ${told} GROUP BY period_key ORDER BY min(told_at)`,
  )
  return rows.map(row => ({
    key: row.period_key!,
    recent: Number(row.recent),
    usedSessions: Number(row.used),
    includedSessions: row.included === null ? null : Number(row.included),
    overageSessions: Number(row.overage),
    overagePacks: Number(row.packs),
    toldAtMs: Number(row.told_at),
  }))
}

/** When the running period was first told of, ms; null where none was. */
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
