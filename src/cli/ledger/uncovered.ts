// What of an agent's time has not been read, and until when all of it has.
import { quoteText } from '../../catalog/layout.ts'
import { gaps } from '../../core/coverage.ts'
import { readByAgent } from '../../warehouse/planning/full-exports.ts'
import { type Span, spanOf } from '../status/agents.ts'
import type { Rows } from '../status/reading.ts'

export interface Uncovered extends Span {
  agentId: string
  /** Null where it reaches back to the beginning of time. */
  days: number | null
}

export interface Reading {
  /** Stretches that have not been read, between where reading is to begin and where it has come to. */
  uncovered: Uncovered[]
  /** Agents of which no window has been read to its end. */
  unread: string[]
  /** Until when everything of all agents that have been read, has been; null where nothing has. */
  readThrough: string | null
}

const DAY_SECONDS = 86_400

/** Agents that the vendor knows, as far as the last listing tells. */
async function listedAgents(rows: Rows, workspaceId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    `SELECT agent_id AS id FROM agents WHERE workspace_id = ${quoteText(workspaceId)} AND _missing_since IS NULL ORDER BY id`,
  )
  return found.map(({ id }) => id)
}

/** `sinceMs`: nothing before is wanted; null: all is. */
export async function readingOf(
  rows: Rows,
  { workspaceId, agents, sinceMs }: { workspaceId: string; agents: readonly string[]; sinceMs: number | null },
): Promise<Reading> {
  const isMeant = (agentId: string) => agents.length === 0 || agents.includes(agentId)
  const listed = (await listedAgents(rows, workspaceId)).filter(isMeant)
  const coverage = [...(await readByAgent({ rows }, workspaceId))].filter(([agentId]) => isMeant(agentId))
  const read = new Set(coverage.map(([agentId]) => agentId))
  const from = Math.max(0, Math.ceil((sinceMs ?? 0) / 1_000))
  const uncovered = coverage.flatMap(([agentId, intervals]) =>
    gaps(intervals, { from, to: intervals.at(-1)!.to }).map(gap => ({
      agentId,
      ...spanOf(gap.from, gap.to),
      days: gap.from === 0 ? null : Math.ceil((gap.to - gap.from + 1) / DAY_SECONDS),
    })),
  )
  // An agent that is gone is not read any further.
  const ends = coverage.filter(([agentId]) => listed.includes(agentId)).map(([, intervals]) => intervals.at(-1)!.to)
  return {
    uncovered,
    unread: listed.filter(agentId => !read.has(agentId)),
    readThrough: ends.length === 0 ? null : spanOf(0, Math.min(...ends)).to,
  }
}
