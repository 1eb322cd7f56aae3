// What the warehouse knows that a plan needs: coverage, unfinished windows, how dense an agent's conversations are.
import { quoteText } from '../catalog/layout.ts'
import type { Coverage } from '../core/coverage.ts'
import type { Density } from '../core/estimate.ts'
import { observedSince } from '../core/planner.ts'
import type { WindowProgress } from '../core/windows.ts'
import { iso, type Writer } from './connection.ts'

/** Files that are in the tables. */
export async function loadedFiles(writer: Writer, workspaceId: string): Promise<Set<string>> {
  const rows = await writer.rows<{ file: string }>(
    `SELECT file FROM _loads WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  return new Set(rows.map(row => row.file))
}

/** Windows that were begun and not finished, oldest first. */
export async function openWindows(writer: Writer, workspaceId: string): Promise<WindowProgress[]> {
  const rows = await writer.rows<{ progress: string }>(
    `SELECT progress FROM _windows WHERE workspace_id = ${quoteText(workspaceId)} AND NOT done ORDER BY opened_at, "window"`,
  )
  return rows.map(row => JSON.parse(row.progress) as WindowProgress)
}

/**
 * Seconds covered by finished windows, by agent. Merged in SQL: a workspace that is polled every 15 minutes has three
 * thousand windows a month and agent, and a handful of intervals.
 */
export async function coverageByAgent(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<Map<string, Coverage>> {
  const rows = await writer.rows<{ agent_id: string; from_sec: string; to_sec: string }>(`
    WITH done AS (
      SELECT agent_id, coalesce(epoch(from_at)::BIGINT, 0) AS f, epoch(to_at)::BIGINT AS t FROM _windows
      WHERE workspace_id = ${quoteText(workspaceId)} AND done AND kind <> 'selected'),
    starts AS (
      SELECT *, CASE WHEN f <= max(t) OVER (PARTITION BY agent_id ORDER BY f, t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + 1
        THEN 0 ELSE 1 END AS starts FROM done),
    islands AS (SELECT *, sum(starts) OVER (PARTITION BY agent_id ORDER BY f, t) AS island FROM starts)
    SELECT agent_id, min(f)::VARCHAR AS from_sec, max(t)::VARCHAR AS to_sec FROM islands GROUP BY agent_id, island ORDER BY agent_id, min(f)`)
  const coverage = new Map<string, Coverage>()
  for (const row of rows) {
    const interval = { from: Number(row.from_sec), to: Number(row.to_sec) }
    coverage.set(row.agent_id, [...(coverage.get(row.agent_id) ?? []), interval])
  }
  return coverage
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
