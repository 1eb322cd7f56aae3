// Whether the days behind a value were exported completely, from the mart `coverage_daily`: it has a row for each agent and day from
// a workspace's first day to the day of its newest export. Earlier days have no row and are not covered.
import type { CoverageOf } from './answer.ts'
import { addDays, bucketSql, daysIn, type Grain, type Period } from './periods.ts'
import { isBeforeSql, type Rows, rowsSql } from './statement.ts'

export interface CoverageRow {
  isBefore: boolean
  /** Null for the whole period. */
  bucket: string | null
  /** Null in rows of all agents. */
  workspace: string | null
  agent: string | null
  /** Fewest days with rows of any workspace concerned. */
  days: number
  workspaces: number
  uncovered: number
}

/** The grain of the days that a bucket has: those of an hour, or a part of the period. Other buckets have all days of the period. */
const DAYS_OF: Partial<Record<Grain, Grain>> = { hour: 'day', day: 'day', week: 'week', month: 'month' }

/** Returns the filters that the mart can apply. Without them, coverage is that of all agents. */
const agentFilters = ({ filters: { workspace, agent } }: Pick<Rows, 'filters'>): Rows['filters'] => ({
  ...(workspace && { workspace }),
  ...(agent && { agent }),
})

/** Returns the SQL of the coverage rows; of each agent too, where values are split by it. */
export function coverageSql(
  rows: Rows,
  { grain, byAgent, today }: { grain: Grain; byAgent: boolean; today: string },
): string {
  const filters = agentFilters(rows)
  const days = DAYS_OF[grain]
  const buckets = days ? bucketSql(days) : 'NULL::VARCHAR'
  return `WITH found AS (
  SELECT *, ${isBeforeSql(rows)} AS _before, ${buckets} AS _bucket FROM marts.coverage_daily WHERE ${rowsSql(`day < DATE '${today}'`, { ...rows, filters })}
), of_workspaces AS (
  SELECT _before, _bucket, workspace_id, ${byAgent ? 'agent_id' : 'NULL::VARCHAR AS agent_id'}, count(DISTINCT day) AS days, count(*) FILTER (NOT is_covered) AS uncovered
  FROM found GROUP BY GROUPING SETS ((_before, _bucket, workspace_id), (_before, workspace_id)${byAgent ? ', (_before, _bucket, workspace_id, agent_id), (_before, workspace_id, agent_id)' : ''})
)
SELECT _before AS "isBefore", _bucket::VARCHAR AS bucket, CASE WHEN agent_id IS NOT NULL THEN workspace_id END AS workspace, agent_id AS agent,
  min(days)::DOUBLE AS days, count(DISTINCT workspace_id)::DOUBLE AS workspaces, sum(uncovered)::DOUBLE AS uncovered
FROM of_workspaces GROUP BY ALL`
}

/** Returns the SQL of the newest day of the data concerned (else of all data), which is not over, and the number of workspaces. */
export function extentSql(rows: Pick<Rows, 'filters'>): string {
  const filters = agentFilters(rows)
  const everyDay = { from: '0001-01-01', to: '9999-12-31' }
  const isConcerned = rowsSql('true', { period: everyDay, before: null, filters })
  return `SELECT coalesce(min(concerned), min(last_day))::VARCHAR AS today, count(concerned)::DOUBLE AS workspaces FROM (
  SELECT max(day) FILTER (${isConcerned}) AS concerned, max(day) AS last_day FROM marts.coverage_daily GROUP BY workspace_id)`
}

export interface Extent {
  /** The newest day of the data in local time; null if nothing was exported. */
  today: string | null
  workspaces: number
}

/** Returns the coverage of periods from the rows. `before`: the period to compare with. */
export function coverageOf(
  rows: readonly CoverageRow[],
  { period, before, extent, byAgent }: { period: Period; before: Period | null; extent: Extent; byAgent: boolean },
): CoverageOf {
  const keyOf = (isBefore: boolean, bucket: string | null, workspace: string | null, agent: string | null): string =>
    JSON.stringify([isBefore, bucket, workspace, agent])
  const found = new Map(rows.map(row => [keyOf(row.isBefore, row.bucket, row.workspace, row.agent), row]))
  const lastDay = addDays(extent.today ?? period.from, -1)
  return (bucket, split) => {
    if (extent.workspaces === 0) return false
    const isBefore = before !== null && bucket.to < period.from
    const whole = isBefore ? before : period
    const isWhole = bucket.from === whole.from && bucket.to === whole.to
    const agent = byAgent && split && !split.isOther ? split : null
    const expected = daysIn({ from: bucket.from, to: bucket.to > lastDay ? lastDay : bucket.to })
    if (expected <= 0) return true
    const key = keyOf(
      isBefore,
      isWhole ? null : bucket.key.slice(0, 10),
      agent?.workspaceId ?? null,
      agent?.value ?? null,
    )
    const row = found.get(key)
    const workspaces = agent ? 1 : extent.workspaces
    return row !== undefined && row.uncovered === 0 && row.days >= expected && row.workspaces === workspaces
  }
}
