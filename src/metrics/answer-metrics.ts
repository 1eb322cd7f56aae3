// Answers requests for metrics from a published snapshot, which a port reads.
import { ConvohouseError } from '../core/errors.ts'
import { answerOf, type MetricAnswer } from './answer.ts'
import { type CoverageRow, coverageOf, coverageSql, type Extent, extentSql } from './coverage.ts'
import type { Metric } from './declaration.ts'
import { columnsOf, type DimensionName } from './dimensions.ts'
import { type Explained, explainChange } from './explain.ts'
import { type Period, periodBefore } from './periods.ts'
import {
  dimensionsUsed,
  expectAnswerable,
  type MetricsRequest,
  metricNamed,
  type ResolvedRequest,
  resolveRequest,
} from './request.ts'
import { conversationsSql, type MetricRow, metricSql, type Rows } from './statement.ts'

/** Reads the snapshot. Counts are numbers, and NULL is null. */
export interface SnapshotPort {
  rows<R>(sql: string): Promise<R[]>
}

/** What a metric's mart has in the snapshot: a target may leave marts and columns out. */
export interface PublishedMarts {
  has(mart: string, column: string): boolean
}

export interface MetricsContext {
  snapshot: SnapshotPort
  marts: PublishedMarts
  metrics: readonly Metric[]
}

export interface MetricAnswered extends MetricAnswer {
  /** The SQL that computed the values. */
  sql: string
}

type Raw<R> = { [K in keyof R as K extends string ? SnakeCase<K> : never]: R[K] }
type SnakeCase<S extends string> = S extends `${infer H}${infer T}`
  ? T extends Uncapitalize<T>
    ? `${Lowercase<H>}${SnakeCase<T>}`
    : `${Lowercase<H>}_${SnakeCase<T>}`
  : S

const metricRow = (raw: Raw<MetricRow>): MetricRow => {
  const { is_before: isBefore, is_split: isSplit, is_other: isOther, ...rest } = raw
  return { ...rest, isBefore, isSplit, isOther }
}

const coverageRow = ({ is_before: isBefore, ...rest }: Raw<CoverageRow>): CoverageRow => ({ ...rest, isBefore })

const rowsOf = ({ period, filters }: ResolvedRequest, before: Period | null): Rows => ({
  period,
  ...(before && { before }),
  filters,
})

/** Refuses a metric whose mart or columns the snapshot does not have. @throws METRIC_INVALID */
function expectPublished(metric: Metric, request: ResolvedRequest, marts: PublishedMarts): void {
  const lacking = ['day', ...columnsOf(dimensionsUsed(request))].find(column => !marts.has(metric.mart, column))
  if (lacking === undefined) return
  throw new ConvohouseError('METRIC_INVALID', {
    what: `The snapshot has no column marts.${metric.mart}.${lacking}, which ${metric.name} needs.`,
    hint: 'The target leaves it out by `pii`, `rows` or `tables`, or was published by another version: publish again.',
  })
}

const extentOf = async (snapshot: SnapshotPort, rows: Pick<Rows, 'filters'>): Promise<Extent> => {
  const [row] = await snapshot.rows<Extent>(extentSql(rows))
  return row ?? { today: null, workspaces: 0 }
}

/** Day of an empty warehouse: every period lies after it. */
const NO_DAY = '1970-01-01'

/** Returns the request's days and metrics, which the snapshot can answer. @throws METRIC_UNKNOWN, METRIC_INVALID */
async function prepare({ snapshot, marts, metrics }: MetricsContext, given: MetricsRequest) {
  const extent = await extentOf(snapshot, given)
  const today = extent.today ?? NO_DAY
  const request = resolveRequest(given, today)
  const asked = given.metrics.map(name => metricNamed(metrics, name))
  for (const metric of asked) {
    expectPublished(metric, request, marts)
    expectAnswerable(metric, request, marts.has(metric.mart, 'local_hour'))
  }
  return { extent, today, request, asked }
}

/**
 * Answers a request: for each metric its values by bucket and split, with observations, coverage and comparison.
 * @throws METRIC_UNKNOWN, METRIC_INVALID
 */
export async function answerMetrics(context: MetricsContext, given: MetricsRequest): Promise<MetricAnswered[]> {
  const { snapshot } = context
  const { extent, today, request, asked } = await prepare(context, given)
  const { period, grain, split, top } = request
  const before = request.compare ? periodBefore(period) : null
  const rows = rowsOf(request, before)
  const byAgent = split === 'agent'
  const [covered, ...answers] = await Promise.all([
    snapshot.rows<Raw<CoverageRow>>(coverageSql(rows, { grain, byAgent, today })),
    ...asked.map(async metric => {
      const sql = metricSql(metric, rows, { grain, top, today, ...(split && { split }) })
      return { metric, sql, found: (await snapshot.rows<Raw<MetricRow>>(sql)).map(metricRow) }
    }),
  ])
  const isCovered = coverageOf(covered.map(coverageRow), { period, before, extent, byAgent })
  return answers.map(({ metric, sql, found }) => ({
    ...answerOf({ metric, grain, period, before, rows: found, today, isCovered }),
    sql,
  }))
}

export interface ConversationKey {
  workspace_id: string
  agent_id: string
  conversation_id: string
  day: string
}

/** Returns the keys of the conversations behind a value, newest first. @throws METRIC_UNKNOWN, METRIC_INVALID */
export async function conversationsBehind(context: MetricsContext, given: MetricsRequest): Promise<ConversationKey[]> {
  const { request, asked } = await prepare(context, { ...given, metrics: given.metrics.slice(0, 1) })
  const metric = asked[0]!
  if (metric.behind === null)
    throw new ConvohouseError('METRIC_INVALID', {
      what: `${metric.name} is computed from daily figures, which do not name conversations.`,
      hint: 'Ask for a metric of conversations with the same filters.',
    })
  const { bucket, limit } = given
  return context.snapshot.rows(conversationsSql(metric, rowsOf(request, null), { grain: request.grain, bucket, limit }))
}

export interface Explanation
  extends Explained<{ workspace: string | null; value: string | null; label: string | null }> {
  metric: string
  period: Period
  periodBefore: Period
  split: DimensionName
  sql: string
}

/** Maximum number of values of a dimension that an explanation distinguishes; the others contribute together. */
const EXPLAINED_VALUES = 200

/**
 * Splits the change of a metric against the period before into contributions of the values of a dimension. Null if a period is not
 * covered or not over, or has too few observations. @throws METRIC_UNKNOWN, METRIC_INVALID
 */
export async function explainMetric(context: MetricsContext, given: MetricsRequest): Promise<Explanation | null> {
  const { metrics, snapshot } = context
  const metric = metricNamed(metrics, given.metrics[0]!)
  const { split } = given
  if (!split || !metric.isAdditive || metric.isLevel)
    throw new ConvohouseError('METRIC_INVALID', {
      what: split
        ? `Parts of ${metric.name} do not add up to the whole, so they cannot explain its change.`
        : 'An explanation needs the dimension whose values explain the change.',
      hint: split ? 'Ask for a count, a sum, a share or an average.' : 'Give `split`.',
    })
  const [answer] = await answerMetrics(context, {
    ...given,
    metrics: [metric.name],
    grain: 'none',
    compare: true,
    top: EXPLAINED_VALUES,
  })
  const total = answer!.series.at(-1)!.total
  if (!total?.comparedWith || total.value === null || total.comparedWith.value === null) return null
  const byKey = new Map<
    string,
    { key: Explanation['contributions'][number]['key']; before: MetricRow | null; after: MetricRow | null }
  >()
  for (const row of (await snapshot.rows<Raw<MetricRow>>(answer!.sql)).map(metricRow)) {
    if (!row.isSplit) continue
    const id = JSON.stringify([row.isOther, row.workspace, row.value])
    const one = byKey.get(id) ?? {
      key: { workspace: row.workspace, value: row.value, label: row.isOther ? 'other' : row.label },
      before: null,
      after: null,
    }
    byKey.set(id, { ...one, [row.isBefore ? 'before' : 'after']: row })
  }
  const isQuotient = metric.denominator !== null
  const parts = (row: MetricRow | null) => ({
    numerator: row?.numerator ?? 0,
    denominator: isQuotient ? (row?.denominator ?? 0) : 1,
  })
  const values = [...byKey.values()].map(({ key, before, after }) => ({
    key,
    before: parts(before),
    after: parts(after),
  }))
  const explained = explainChange(values, isQuotient)
  const { period, periodBefore: earlier, sql } = answer!
  return explained && { metric: metric.name, period, periodBefore: earlier!, split, sql, ...explained }
}
