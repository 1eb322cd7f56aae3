// Reads the coverage of a workspace: covered spans by agent, gaps between them, and requested spans that were not read.
import { quoteText } from '../catalog/layout.ts'
import { type Coverage, gaps } from '../core/planning/coverage.ts'
import { readByAgent } from '../warehouse/planning/full-exports.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFiles } from '../warehouse/sql-files.ts'

/** A closed span of time, ISO-8601 UTC; `from` is null for the beginning of time. */
export interface Span {
  from: string | null
  to: string
}

export interface AgentStatus {
  agentId: string
  title: string | null
  /** Time since when the agent's export answers 404; null if it does not. */
  missingSince: string | null
  conversations: number
  newestAt: string | null
  oldestAt: string | null
  covered: Span[]
  /** The spans between the covered ones. */
  gaps: Span[]
  /** Number of windows that were started and are not finished. */
  openWindows: number
}

/** Returns the status of each agent that a listing or a conversation names. */
export async function agentStatus(rows: Rows, workspaceId: string, nowMs: number): Promise<AgentStatus[]> {
  const coverage = await readByAgent({ rows }, workspaceId, nowMs)
  const [{ sql } = { sql: '' }] = sqlFiles('reports').filter(({ name }) => name === 'agents')
  // The id is written into the SQL text, because the guard for queries to the warehouse's holder allows no parameters.
  const agents = await rows<Omit<AgentStatus, 'covered' | 'gaps'>>(
    sql.replaceAll('$workspace_id', () => quoteText(workspaceId)),
  )
  return agents.map(agent => ({ ...agent, ...spansOf(coverage.get(agent.agentId) ?? []) }))
}

const spansOf = (coverage: Coverage): Pick<AgentStatus, 'covered' | 'gaps'> => ({
  covered: coverage.map(({ from, to }) => spanOf(from, to)),
  gaps: coverage.slice(1).map((interval, at) => spanOf(coverage[at]!.to + 1, interval.from - 1)),
})

/** Returns the span. `from` and `to`: seconds since the epoch. */
const spanOf = (from: number, to: number): Span => ({ from: from <= 0 ? null : iso(from), to: iso(to) })

const iso = (second: number): string => new Date(second * 1_000).toISOString()

export interface Uncovered extends Span {
  agentId: string
  /** Length of the span; null if it has no beginning. */
  days: number | null
}

export interface ReadCoverage {
  /** Requested spans that were not read although a later second of the same agent was. */
  uncovered: Uncovered[]
  /** Listed agents for which no window has been finished yet. */
  unread: string[]
  /** All listed agents that have been read are covered up to this time; null if none has been read. */
  readThrough: string | null
}

const DAY_SECONDS = 86_400

/** Reads the coverage. `agents`: only these; empty for all. `sinceMs`: only later time is required; null for all time. */
export async function readCoverage(
  rows: Rows,
  {
    workspaceId,
    agents,
    sinceMs,
    nowMs,
  }: { workspaceId: string; agents: readonly string[]; sinceMs: number | null; nowMs: number },
): Promise<ReadCoverage> {
  const isWanted = (agentId: string) => agents.length === 0 || agents.includes(agentId)
  const listed = (await listedAgents(rows, workspaceId)).filter(isWanted)
  const coverage = [...(await readByAgent({ rows }, workspaceId, nowMs))].filter(([agentId]) => isWanted(agentId))
  const read = new Set(coverage.map(([agentId]) => agentId))
  const from = Math.max(0, Math.ceil((sinceMs ?? 0) / 1_000))
  const uncovered = coverage.flatMap(([agentId, intervals]) =>
    gaps(intervals, { from, to: intervals.at(-1)!.to }).map(gap => ({
      agentId,
      ...spanOf(gap.from, gap.to),
      days: gap.from === 0 ? null : Math.ceil((gap.to - gap.from + 1) / DAY_SECONDS),
    })),
  )
  // Agents that are gone are omitted.
  const ends = coverage.filter(([agentId]) => listed.includes(agentId)).map(([, intervals]) => intervals.at(-1)!.to)
  return {
    uncovered,
    unread: listed.filter(agentId => !read.has(agentId)),
    readThrough: ends.length === 0 ? null : spanOf(0, Math.min(...ends)).to,
  }
}

/** Returns the agents in the vendor's last listing. */
async function listedAgents(rows: Rows, workspaceId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    `SELECT agent_id AS id FROM agents WHERE workspace_id = ${quoteText(workspaceId)} AND _missing_since IS NULL ORDER BY id`,
  )
  return found.map(({ id }) => id)
}
