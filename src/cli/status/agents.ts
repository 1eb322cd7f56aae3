// Agents, what is there of each, and how much of their time has been read.
import { quoteText } from '../../catalog/layout.ts'
import type { Coverage } from '../../core/coverage.ts'
import { readByAgent } from '../../warehouse/planning/full-exports.ts'
import type { Rows } from './reading.ts'

/** Two moments, ISO-8601 UTC; `from` is null for the beginning of all time. */
export interface Span {
  from: string | null
  to: string
}

export interface AgentStatus {
  agentId: string
  title: string | null
  /** Since when the vendor does not know it any more. */
  missingSince: string | null
  conversations: number
  newestAt: string | null
  oldestAt: string | null
  covered: Span[]
  /** What lies between covered stretches. */
  gaps: Span[]
  /** Windows that were begun and not finished. */
  openWindows: number
}

const iso = (second: number): string => new Date(second * 1_000).toISOString()

/** Of seconds since the epoch. */
export const spanOf = (from: number, to: number): Span => ({ from: from <= 0 ? null : iso(from), to: iso(to) })

const spansOf = (coverage: Coverage): Pick<AgentStatus, 'covered' | 'gaps'> => ({
  covered: coverage.map(({ from, to }) => spanOf(from, to)),
  gaps: coverage.slice(1).map((interval, at) => spanOf(coverage[at]!.to + 1, interval.from - 1)),
})

/** One for each agent that a listing or a conversation told of. */
export async function agentStatus(rows: Rows, workspaceId: string): Promise<AgentStatus[]> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const coverage = await readByAgent({ rows }, workspaceId)
  const agents = await rows<Omit<AgentStatus, 'covered' | 'gaps'>>(`
    WITH listed AS (SELECT agent_id, any_value(title) AS title, max(_missing_since) AS missing FROM agents WHERE ${here} GROUP BY ALL),
    held AS (SELECT agent_id, count(*) AS n, max(ts) AS newest, min(ts) AS oldest FROM conversations WHERE ${here} GROUP BY ALL),
    open AS (SELECT agent_id, count(*) AS n FROM _windows WHERE ${here} AND NOT done
      -- One of a full export that was dropped is not gone on with.
      AND NOT (kind = 'full' AND opened_at <= coalesce((SELECT max(planned_until) FROM _full_exports_dropped WHERE ${here}), TIMESTAMP 'epoch'))
      GROUP BY ALL)
    SELECT agent_id AS "agentId", title, missing AS "missingSince", coalesce(held.n, 0) AS conversations,
      newest AS "newestAt", oldest AS "oldestAt", coalesce(open.n, 0) AS "openWindows"
    FROM listed FULL JOIN held USING (agent_id) LEFT JOIN open USING (agent_id) ORDER BY conversations DESC, agent_id`)
  return agents.map(agent => ({ ...agent, ...spansOf(coverage.get(agent.agentId) ?? []) }))
}
