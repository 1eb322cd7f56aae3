// Full exports: their windows, those that are dropped, and the conversations that another one would export again.
import { quoteText } from '../../catalog/layout.ts'
import { type Coverage, cover, without } from '../../core/planning/coverage.ts'
import { coveredByFullExport, type StoredDay } from '../../core/planning/full-export.ts'
import type { WindowProgress } from '../../core/planning/windows.ts'
import { iso, type Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'
import { coverageByAgent } from './coverage.ts'

/** Returns the windows of all full exports, finished or not. */
export async function fullWindows(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<WindowProgress[]> {
  const rows = await writer.rows<{ progress: string }>(
    `SELECT progress FROM _windows WHERE workspace_id = ${quoteText(workspaceId)} AND kind = 'full' ORDER BY opened_at, window_name`,
  )
  return rows.map(row => JSON.parse(row.progress) as WindowProgress)
}

/** Returns the time up to which planned full exports were dropped, ms; null if none was. */
export async function droppedFullsMs(writer: Pick<Writer, 'rows'>, workspaceId: string): Promise<number | null> {
  const [row] = await writer.rows<{ ms: number | null }>(
    `SELECT epoch_ms(max(planned_until))::DOUBLE AS ms FROM _full_exports_dropped WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  return row!.ms
}

/** Returns the seconds read until now by agent, as the planner counts them: covered, or read by an unfinished full export. */
export async function readByAgent(
  reader: Pick<Writer, 'rows'>,
  workspaceId: string,
  nowMs: number,
): Promise<ReadonlyMap<string, Coverage>> {
  const read = await coverageByAgent(reader, workspaceId)
  for (const progress of await fullWindows(reader, workspaceId)) {
    const { agentId } = progress.window
    const parts = coveredByFullExport(progress)
    if (parts.length > 0) read.set(agentId, parts.reduce(cover, read.get(agentId) ?? []))
  }
  // Windows may have been opened while the clock was ahead; the next plan cuts them.
  const future = { from: Math.floor(nowMs / 1_000) + 1, to: Number.POSITIVE_INFINITY }
  const passed = [...read].map(([agentId, coverage]) => [agentId, without(coverage, future)] as const)
  return new Map(passed.filter(([, coverage]) => coverage.length > 0))
}

/** Drops all full exports that were planned up to `untilMs`; their landed pages stay. */
export const dropFulls = (writer: Writer, workspaceId: string, untilMs: number): Promise<void> =>
  writer.transaction(async () => {
    const params = { workspace: workspaceId }
    await writer.run('DELETE FROM _full_exports_dropped WHERE workspace_id = $workspace', params)
    await writer.run('INSERT INTO _full_exports_dropped VALUES ($workspace, $until::TIMESTAMPTZ)', {
      ...params,
      until: iso(untilMs),
    })
  })

/** Returns stored conversations and their sessions by agent and day of `ts`: the bill of exporting them again. */
export async function storedByDay(writer: Writer, workspaceId: string): Promise<Map<string, StoredDay[]>> {
  const rows = await writer.rows<StoredDay & { agentId: string }>(sqlFile('planning/stored_by_day'), {
    workspace: workspaceId,
  })
  const stored = new Map<string, StoredDay[]>()
  for (const { agentId, ...day } of rows) stored.set(agentId, [...(stored.get(agentId) ?? []), day])
  return stored
}
