// Runs: one row for each sync, written when it begins and completed when it ends. A row without an end was killed.
import { quoteText } from '../catalog/layout.ts'
import { iso, type Writer } from './connection.ts'

/** Begins a run; one that has begun stays as it is. */
export const beginRun = (writer: Writer, workspaceId: string, run: string, nowMs: number): Promise<void> =>
  writer.transaction(() =>
    writer.run(
      `INSERT INTO _runs (workspace_id, run, started_at) SELECT ${quoteText(workspaceId)}, ${quoteText(run)}, TIMESTAMP '${iso(nowMs)}'
        WHERE NOT EXISTS (FROM _runs WHERE workspace_id = ${quoteText(workspaceId)} AND run = ${quoteText(run)})`,
    ),
  )

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

/** The vendor knows an agent no more (404): its rows stay, and say since when. */
export const markAgentGone = (writer: Writer, workspaceId: string, agentId: string, nowMs: number): Promise<void> =>
  writer.transaction(() =>
    writer.run(`UPDATE agents SET _missing_since = coalesce(_missing_since, TIMESTAMP '${iso(nowMs)}')
      WHERE workspace_id = ${quoteText(workspaceId)} AND agent_id = ${quoteText(agentId)}`),
  )

/** Agents that are listed are not gone, whatever an answer said of them before. */
export async function markAgentsThere(writer: Writer, workspaceId: string, agentIds: readonly string[]): Promise<void> {
  const where = `workspace_id = ${quoteText(workspaceId)} AND _missing_since IS NOT NULL`
  const there = new Set(agentIds)
  const gone = await writer.rows<{ id: string }>(`SELECT agent_id AS id FROM agents WHERE ${where}`)
  const back = gone.flatMap(({ id }) => (there.has(id) ? [quoteText(id)] : []))
  if (back.length === 0) return
  const update = `UPDATE agents SET _missing_since = NULL WHERE ${where} AND agent_id IN (${back.join(', ')})`
  await writer.transaction(() => writer.run(update))
}

/** Runs, and full exports that were dropped, are told by nothing that landed: a rebuilt warehouse takes them from the one before it. */
export async function copyRuns(from: Writer, to: Writer): Promise<void> {
  const rows = await from.rows('SELECT * FROM _runs')
  const [text, at, count] = ['VARCHAR', 'TIMESTAMP', 'BIGINT']
  const columns = {
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
  await to.transaction(() => to.append('_runs', columns, rows))
  const dropped = await from.rows('SELECT * FROM _full_exports_dropped')
  const until = { workspace_id: text, planned_until: at }
  await to.transaction(() => to.append('_full_exports_dropped', until, dropped))
}
