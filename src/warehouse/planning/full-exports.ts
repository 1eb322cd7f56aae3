// Full exports as the warehouse knows them: their windows, until when they are dropped, and what another one would export again.
import { quoteText } from '../../catalog/layout.ts'
import { type Coverage, cover } from '../../core/coverage.ts'
import { coveredByFullExport, type StoredDay } from '../../core/full-export.ts'
import type { WindowProgress } from '../../core/windows.ts'
import { iso, type Writer } from '../connection.ts'
import { coverageByAgent } from './coverage.ts'

/** Windows of all full exports, finished or not. */
export async function fullWindows(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<WindowProgress[]> {
  const rows = await writer.rows<{ progress: string }>(
    `SELECT progress FROM _windows WHERE workspace_id = ${quoteText(workspaceId)} AND kind = 'full' ORDER BY opened_at, "window"`,
  )
  return rows.map(row => JSON.parse(row.progress) as WindowProgress)
}

/** Full exports that were planned by then are dropped, ms; null: none is. */
export async function droppedFullsMs(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<number | null> {
  const [row] = await writer.rows<{ ms: string | null }>(
    `SELECT epoch_ms(max(planned_until))::VARCHAR AS ms FROM _full_exports_dropped WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  return row?.ms == null ? null : Number(row.ms)
}

/** Seconds that have been read, by agent, as the planner counts them: covered, or read by a full export that was not finished. */
export async function readByAgent(
  reader: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<ReadonlyMap<string, Coverage>> {
  const read = await coverageByAgent(reader, workspaceId)
  for (const progress of await fullWindows(reader, workspaceId)) {
    const { agentId } = progress.window
    const parts = coveredByFullExport(progress)
    if (parts.length > 0) read.set(agentId, parts.reduce(cover, read.get(agentId) ?? []))
  }
  return read
}

/** Drops those that were planned by then; what they have landed is kept. */
export const dropFulls = (writer: Writer, workspaceId: string, untilMs: number): Promise<void> =>
  writer.transaction(async () => {
    await writer.run(`DELETE FROM _full_exports_dropped WHERE workspace_id = ${quoteText(workspaceId)}`)
    await writer.run(
      `INSERT INTO _full_exports_dropped VALUES (${quoteText(workspaceId)}, TIMESTAMP '${iso(untilMs)}')`,
    )
  })

/** Stored conversations and their sessions by day of `ts`, by agent: what exporting them again would bill. */
export async function storedByDay(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<Map<string, StoredDay[]>> {
  const rows = await writer.rows<
    Record<'n' | 'sessions' | 'rate', number> & { agent_id: string; first: string | null; last: string | null }
  >(`
    WITH rates AS (
      SELECT agent_id, sum(billed) / nullif(sum(returned), 0) AS rate FROM _windows
      WHERE workspace_id = ${quoteText(workspaceId)} GROUP BY agent_id)
    SELECT c.agent_id, epoch(min(c.ts))::BIGINT::VARCHAR AS first, epoch(max(c.ts))::BIGINT::VARCHAR AS last, count(*)::INTEGER AS n,
      sum(greatest(1, coalesce(c.sessions_num, 1)))::DOUBLE AS sessions, coalesce(any_value(rates.rate), 1)::DOUBLE AS rate
    FROM conversations c LEFT JOIN rates ON rates.agent_id = c.agent_id
    WHERE c.workspace_id = ${quoteText(workspaceId)} GROUP BY c.agent_id, c.ts::DATE ORDER BY c.agent_id, c.ts::DATE`)
  const stored = new Map<string, StoredDay[]>()
  for (const { agent_id, first, last, n, sessions, rate } of rows) {
    const days = stored.get(agent_id) ?? []
    const stretch = first === null || last === null ? null : { from: Number(first), to: Number(last) }
    days.push({
      range: stretch,
      conversations: n,
      billed: n * rate,
      sessions,
    })
    stored.set(agent_id, days)
  }
  return stored
}
