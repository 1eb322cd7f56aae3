// Runs: one row for each sync, written when it begins and completed when it ends. A row without an end was killed.
import { quoteText } from '../catalog/layout.ts'
import { iso, type Writer } from './connection.ts'

/** Begins a run; true where it had not begun before: one that has stays as it is. */
export const beginRun = (writer: Writer, workspaceId: string, run: string, nowMs: number): Promise<boolean> =>
  writer.transaction(async () => {
    const begun = await writer.rows(
      `INSERT INTO _runs (workspace_id, run, started_at) SELECT ${quoteText(workspaceId)}, ${quoteText(run)}, TIMESTAMP '${iso(nowMs)}'
        WHERE NOT EXISTS (FROM _runs WHERE workspace_id = ${quoteText(workspaceId)} AND run = ${quoteText(run)}) RETURNING 1`,
    )
    return begun.length > 0
  })

export const endRun = (
  writer: Writer,
  options: {
    workspaceId: string
    run: string
    nowMs: number
    outcome: string
    requests: number
    sessions: number
    pages: number
    conversations: number
  },
): Promise<void> =>
  writer.transaction(() =>
    writer.run(`UPDATE _runs SET ended_at = TIMESTAMP '${iso(options.nowMs)}', outcome = ${quoteText(options.outcome)},
        requests = ${options.requests}, sessions = ${options.sessions}, pages = ${options.pages}, conversations = ${options.conversations}
      WHERE workspace_id = ${quoteText(options.workspaceId)} AND run = ${quoteText(options.run)}`),
  )

const [text, at, count] = ['VARCHAR', 'TIMESTAMP', 'BIGINT']
const COLUMNS = {
  workspace_id: text,
  run: text,
  started_at: at,
  ended_at: at,
  outcome: text,
  requests: count,
  sessions: count,
  pages: count,
  conversations: count,
}

/** Runs as the landing tells of them. */
export const keepRuns = (writer: Writer, workspaceId: string, runs: readonly RunNoted[]): Promise<void> =>
  writer.transaction(() =>
    writer.append(
      '_runs',
      COLUMNS,
      runs.map(({ startedMs, endedMs, ...run }) => ({
        ...run,
        workspace_id: workspaceId,
        started_at: iso(startedMs),
        ended_at: endedMs === undefined ? null : iso(endedMs),
      })),
    ),
  )

/** A rebuilt warehouse takes the runs of the one before it, which may know more of them than the landing, and full exports that were dropped. */
export async function copyRuns(from: Writer, to: Writer): Promise<void> {
  const rows = await from.rows<Record<'workspace_id' | 'run', string>>('SELECT * FROM _runs')
  await to.transaction(async () => {
    for (const { workspace_id, run } of rows)
      await to.run(`DELETE FROM _runs WHERE workspace_id = ${quoteText(workspace_id)} AND run = ${quoteText(run)}`)
    await to.append('_runs', COLUMNS, rows)
  })
  const dropped = await from.rows<Record<'workspace_id', string>>('SELECT * FROM _full_exports_dropped')
  await to.transaction(async () => {
    for (const { workspace_id } of dropped)
      await to.run(`DELETE FROM _full_exports_dropped WHERE workspace_id = ${quoteText(workspace_id)}`)
    await to.append('_full_exports_dropped', { workspace_id: text, planned_until: at }, dropped)
  })
}

interface RunNoted {
  run: string
  startedMs: number
  endedMs?: number
  outcome?: string
  requests?: number
  sessions?: number
  pages?: number
  conversations?: number
}
