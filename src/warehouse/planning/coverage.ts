// Coverage in the warehouse: the seconds that finished windows cover, by agent.
import { quoteText } from '../../catalog/layout.ts'
import { type Coverage, cover, coverAll, type Interval } from '../../core/planning/coverage.ts'
import { type CertainTime, type ClockReading, withoutUnpassedTime } from '../../core/planning/unpassed-time.ts'
import { coveredBy } from '../../core/planning/window-progress.ts'
import { isById, type WindowProgress } from '../../core/planning/windows.ts'
import { iso, type Writer } from '../connection.ts'

const WHERE = (workspaceId: string): string => `workspace_id = ${quoteText(workspaceId)}`

/** Returns the seconds covered by finished windows, by agent. */
export async function coverageByAgent(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  agents?: readonly string[],
  table = '_covered',
): Promise<Map<string, Coverage>> {
  const only = agents ? `AND agent_id IN (${agents.map(quoteText).join(', ')})` : ''
  const rows = await writer.rows<Interval & { agent_id: string }>(
    `SELECT agent_id, from_sec::DOUBLE AS "from", to_sec::DOUBLE AS "to" FROM ${table} AS c
     WHERE ${WHERE(workspaceId)} ${only} ORDER BY agent_id, c.from_sec`,
  )
  const coverage = new Map<string, Coverage>()
  for (const { agent_id, ...interval } of rows) coverage.set(agent_id, [...(coverage.get(agent_id) ?? []), interval])
  return coverage
}

/** Cuts an agent's finished windows in `_windows` and `_covered` to time that had passed, inside the caller's transaction. */
async function cutWindowsOf(writer: Writer, workspaceId: string, agentId: string, certain: CertainTime): Promise<void> {
  const here = `${WHERE(workspaceId)} AND agent_id = ${quoteText(agentId)}`
  const rows = await writer.rows<{ progress: string }>(`SELECT progress FROM _windows WHERE ${here}`)
  const windows = rows.map(({ progress }) => JSON.parse(progress) as WindowProgress)
  const read = withoutUnpassedTime(windows, certain)
  for (const progress of read.filter((cut, at) => cut !== windows[at]))
    await writer.run(
      `UPDATE _windows SET to_at = $to::TIMESTAMPTZ, progress = $progress::JSON WHERE ${here} AND window_name = $name`,
      { to: iso(progress.window.toSec * 1_000), progress: JSON.stringify(progress), name: progress.window.name },
    )
  const done = read.filter(progress => progress.done && !isById(progress.window.kind))
  const coverage = new Map([[agentId, coverAll(done.flatMap(coveredBy))]])
  await replaceCoverage(writer, '_covered', { workspaceId, coverage, agents: [agentId] })
}

/** Cuts windows that were opened after `latestMs`, the later of both clocks, to the time that has certainly been read. */
export const cutUnpassedTime = (
  writer: Writer,
  workspaceId: string,
  { latestMs, settleMs }: ClockReading,
): Promise<void> =>
  writer.transaction(async () => {
    const agents = await writer.rows<{ id: string; newest: number | null }>(
      `SELECT agent_id AS id, (SELECT epoch(max(ts)) FROM conversations c WHERE c.workspace_id = w.workspace_id
         AND c.agent_id = w.agent_id AND _complete AND ts <= $latest::TIMESTAMPTZ) AS newest
       FROM (SELECT DISTINCT workspace_id, agent_id FROM _windows
         WHERE workspace_id = $workspace AND done AND opened_at > $latest::TIMESTAMPTZ) w`,
      { workspace: workspaceId, latest: iso(latestMs) },
    )
    for (const { id, newest } of agents)
      await cutWindowsOf(writer, workspaceId, id, {
        latestMs,
        certainSec: Math.floor((newest ?? 0) - settleMs / 1_000),
      })
  })

/** Cuts the windows of agents for which the batch shows that a window was opened while the clock was ahead. */
export async function cutOutOfOrder(
  writer: Writer,
  workspaceId: string,
  windows: readonly WindowProgress[],
): Promise<void> {
  const names = windows.map(({ window }) => quoteText(window.name)).join(', ')
  const over = `FROM _windows WHERE ${WHERE(workspaceId)} AND kind IN ('head', 'tail')`
  const isOutOfOrder = `later.done AND earlier.opened_at < later.opened_at AND earlier.from_at <= later.to_at
    AND earlier.from_at > coalesce(later.from_at, '-infinity'::TIMESTAMPTZ)`
  // The batch's bounds leave few rows on the other side: with a million windows, a join without them took minutes.
  const agents = await writer.rows<{ id: string }>(
    `WITH batch AS MATERIALIZED (${over} AND window_name IN (${names}))
     SELECT agent_id AS id FROM batch earlier
       JOIN (${over} AND done AND opened_at > (SELECT min(opened_at) FROM batch)) later USING (agent_id) WHERE ${isOutOfOrder}
     UNION
     SELECT agent_id FROM batch later
       JOIN (${over} AND from_at > (SELECT min(coalesce(from_at, '-infinity'::TIMESTAMPTZ)) FROM batch)) earlier USING (agent_id)
     WHERE ${isOutOfOrder}`,
  )
  const certain = { latestMs: Number.POSITIVE_INFINITY, certainSec: 0 }
  for (const { id } of agents) await cutWindowsOf(writer, workspaceId, id, certain)
}

/** Adds the ranges of those windows that are finished, inside the caller's transaction. */
export async function addFinishedWindows(
  writer: Writer,
  workspaceId: string,
  windows: readonly WindowProgress[],
): Promise<void> {
  const done = windows.filter(progress => progress.done && !isById(progress.window.kind))
  if (done.length === 0) return
  const agents = [...new Set(done.map(({ window }) => window.agentId))]
  const coverage = await coverageByAgent(writer, workspaceId, agents)
  for (const progress of done) {
    const { agentId } = progress.window
    coverage.set(agentId, coveredBy(progress).reduce(cover, coverage.get(agentId) ?? []))
  }
  await replaceCoverage(writer, '_covered', { workspaceId, coverage, agents })
}

async function replaceCoverage(
  writer: Writer,
  table: string,
  {
    workspaceId,
    coverage,
    agents,
  }: { workspaceId: string; coverage: Map<string, Coverage>; agents: readonly string[] },
): Promise<void> {
  const these = agents.map(quoteText).join(', ')
  await writer.run(`DELETE FROM ${table} WHERE ${WHERE(workspaceId)} AND agent_id IN (${these})`)
  const values = [...coverage].flatMap(([agentId, intervals]) =>
    intervals.map(({ from, to }) => `(${quoteText(workspaceId)}, ${quoteText(agentId)}, ${from}, ${to})`),
  )
  // There is nothing to insert if the window consists only of a lost page's range.
  if (values.length > 0) await writer.run(`INSERT INTO ${table} VALUES ${values.join(', ')}`)
}

/** Adds this warehouse's coverage to that of the attached schema `to`, into which its windows have been copied. */
export async function copyCoverage(writer: Writer, workspaceId: string, to: string): Promise<void> {
  const [coverage, existing] = [
    await coverageByAgent(writer, workspaceId),
    await coverageByAgent(writer, workspaceId, undefined, `${to}._covered`),
  ]
  if (coverage.size === 0) return
  for (const [agentId, intervals] of coverage)
    coverage.set(agentId, coverAll([...intervals, ...(existing.get(agentId) ?? [])]))
  await replaceCoverage(writer, `${to}._covered`, { workspaceId, coverage, agents: [...coverage.keys()] })
}
