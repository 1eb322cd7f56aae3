// Coverage in the warehouse: which seconds finished windows cover, by agent.
import { quoteText } from '../../catalog/layout.ts'
import { type Coverage, cover, coverAll } from '../../core/planning/coverage.ts'
import { coveredBy, isById, type WindowProgress } from '../../core/planning/windows.ts'
import type { Writer } from '../connection.ts'

const WHERE = (workspaceId: string): string => `workspace_id = ${quoteText(workspaceId)}`

/** Seconds covered by finished windows, by agent. */
export async function coverageByAgent(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  agents?: readonly string[],
  table = '_covered',
): Promise<Map<string, Coverage>> {
  const only = agents ? `AND agent_id IN (${agents.map(quoteText).join(', ')})` : ''
  const rows = await writer.rows<{ agent_id: string; from_sec: string; to_sec: string }>(
    `SELECT agent_id, from_sec::VARCHAR AS from_sec, to_sec::VARCHAR AS to_sec FROM ${table} AS c
     WHERE ${WHERE(workspaceId)} ${only} ORDER BY agent_id, c.from_sec`,
  )
  const coverage = new Map<string, Coverage>()
  for (const row of rows) {
    const interval = { from: Number(row.from_sec), to: Number(row.to_sec) }
    coverage.set(row.agent_id, [...(coverage.get(row.agent_id) ?? []), interval])
  }
  return coverage
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
  // There is nothing to insert if the window consists only of the range of a lost page.
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
