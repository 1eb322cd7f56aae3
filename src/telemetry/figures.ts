// Reads each workspace's figures for the metrics from the warehouse.
import { knownPerDay } from '../core/planning/estimate.ts'
import { periodsOf } from '../core/quota/period-keys.ts'
import type { QuotaOutlook } from '../reports/quota.ts'
import type { Params } from '../warehouse/connection.ts'
import { densityByAgent } from '../warehouse/planning/planner-queries.ts'
import { keysReported } from '../warehouse/planning/quota-reports.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFile, withLiterals } from '../warehouse/sql-files.ts'

/** Named as in sql/reports/figures.sql; a figure without rows is absent. */
export interface WorkspaceFigures {
  /** End of the coverage of the agent whose coverage ends first, seconds since the epoch. */
  head?: number
  /** End of the last successful run, seconds since the epoch. */
  lastSuccess?: number
  quarantined: number
  issues: number
  eventsApplied: number
  /** Number of runs by outcome. */
  runs: Map<string, number>
  /** Number of ended runs with an error, by error code. */
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

/** Figures by workspace id. */
export async function workspaceFigures(rows: Rows): Promise<Map<string, WorkspaceFigures>> {
  const found = new Map<string, WorkspaceFigures>()
  for (const { workspaceId, figure, label, value } of await rows<FigureRow>(sqlFile('reports/figures'))) {
    const figures = found.get(workspaceId) ?? noFigures()
    found.set(workspaceId, figures)
    if (figure === 'runs' || figure === 'runErrors') figures[figure].set(label, value)
    else figures[figure] = value
  }
  return found
}

/** The sessions that new conversations are expected to use. Reads the conversations of the last weeks, so call it rarely. */
export async function newConversations(rows: Rows, workspaceId: string, nowMs: number): Promise<QuotaOutlook> {
  const reader = { rows: <R>(sql: string, params: Params = {}) => rows<R>(withLiterals(sql, params)) }
  const densities = await densityByAgent(reader, workspaceId, nowMs)
  return {
    knownPerDay: knownPerDay([...densities.values()]),
    periods: periodsOf(await keysReported(reader, workspaceId)),
  }
}
