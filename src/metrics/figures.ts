// What the warehouse tells of each workspace, for metrics.
import { knownPerDay } from '../core/estimate.ts'
import { periodsOf } from '../core/period-keys.ts'
import type { QuotaOutlook } from '../reports/quota.ts'
import { densityByAgent } from '../warehouse/planning/planner-queries.ts'
import { keysReported } from '../warehouse/planning/quota-reports.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFiles } from '../warehouse/sql-files.ts'

/** By the names in sql/reports/figures.sql; a figure that a workspace has no rows for is absent. */
export interface WorkspaceFigures {
  /** Seconds since the epoch: up to when the agent is read that is read least far. */
  head?: number
  /** Seconds since the epoch. */
  lastSuccess?: number
  quarantined: number
  issues: number
  eventsApplied: number
  /** By outcome. */
  runs: Map<string, number>
  /** By error code. */
  runErrors: Map<string, number>
}

interface FigureRow {
  workspaceId: string
  figure: 'head' | 'lastSuccess' | 'quarantined' | 'issues' | 'eventsApplied' | 'runs' | 'runErrors'
  label: string
  value: number
}

export const noFigures = (): WorkspaceFigures => ({
  quarantined: 0,
  issues: 0,
  eventsApplied: 0,
  runs: new Map(),
  runErrors: new Map(),
})

/** Of all workspaces that the warehouse knows, by id. */
export async function workspaceFigures(rows: Rows): Promise<Map<string, WorkspaceFigures>> {
  const [{ sql } = { sql: '' }] = (await sqlFiles('reports')).filter(({ name }) => name === 'figures')
  const found = new Map<string, WorkspaceFigures>()
  for (const { workspaceId, figure, label, value } of await rows<FigureRow>(sql)) {
    const figures = found.get(workspaceId) ?? noFigures()
    found.set(workspaceId, figures)
    if (figure === 'runs' || figure === 'runErrors') figures[figure].set(label, value)
    else figures[figure] = value
  }
  return found
}

/** What new conversations take: reads the conversations of the last weeks, so it is asked for now and then. */
export async function newConversations(rows: Rows, workspaceId: string, nowMs: number): Promise<QuotaOutlook> {
  const densities = await densityByAgent({ rows }, workspaceId, nowMs)
  return {
    knownPerDay: knownPerDay([...densities.values()]),
    periods: periodsOf(await keysReported({ rows }, workspaceId)),
  }
}
