// Answers requests for metrics from a published snapshot, which a port reads.
import { ConvohouseError } from '../core/errors.ts'
import { answerOf, splitKey, splitOf } from './answer.ts'
import type { Behind, ConversationKey, ExplanationAnswer, MetricAnswered, SplitValue } from './answer-format.ts'
import { type CoverageRow, coverageOf, coverageSql, type Extent, extentSql } from './coverage.ts'
import type { Metric } from './declaration.ts'
import { columnsOf } from './dimensions.ts'
import { explainChange, type Parts } from './explain.ts'
import { bucketsOf, periodBefore } from './periods.ts'
import {
  dimensionsUsed,
  expectAnswerable,
  type MetricsRequest,
  metricNamed,
  type ResolvedRequest,
  resolveRequest,
} from './request.ts'
import { behindSql, conversationsSql, type Rows, rowsOfMetric, type StatementRow, statementsOf } from './statement.ts'

export interface MetricsContext {
  /** Reads the snapshot. Counts are numbers, and NULL is null. */
  rows<R>(sql: string): Promise<R[]>
  /** The columns in the snapshot, as `mart.column`: a target may leave marts and columns out. */
  columns: ReadonlySet<string>
  metrics: readonly Metric[]
}

/** Refuses a metric whose mart or columns the snapshot does not have. @throws METRIC_INVALID */
function expectPublished(metric: Metric, request: ResolvedRequest, columns: ReadonlySet<string>): void {
  const lacking = ['day', ...columnsOf(dimensionsUsed(request))].find(
    column => !columns.has(`${metric.mart}.${column}`),
  )
  if (lacking === undefined) return
  throw new ConvohouseError('METRIC_INVALID', {
    what: `The snapshot has no column marts.${metric.mart}.${lacking}, which ${metric.name} needs.`,
    hint: 'The target leaves it out by `pii`, `rows` or `tables`, or was published by another version: publish again.',
  })
}

/** Value of a dimension in marts where none is stated. */
const UNKNOWN = 'unknown'

/** Day of an empty warehouse: every period lies after it. */
export const NO_DAY = '1970-01-01'

/** Returns the request's days and metrics, which the snapshot can answer. @throws METRIC_UNKNOWN, METRIC_INVALID */
async function prepare({ rows, columns, metrics }: MetricsContext, given: MetricsRequest) {
  const [extent] = await rows<Extent>(extentSql(given))
  const today = extent!.today ?? NO_DAY
  const request = resolveRequest(given, today)
  const asked = given.metrics.map(name => metricNamed(metrics, name))
  for (const metric of asked) {
    expectAnswerable(metric, request, columns.has(`${metric.mart}.local_hour`))
    expectPublished(metric, request, columns)
  }
  const { period, compare, filters } = request
  const concerned: Rows = { period, before: compare ? periodBefore(period) : null, filters }
  return { extent: extent!, today, request, asked, concerned }
}

/** Tells whether the values of a metric that are added up for a value of the split (null: for all) have one known unit. */
function hasOneUnit({ unitBy }: Metric, { split, filters }: ResolvedRequest, value: SplitValue | null): boolean {
  if (unitBy === null) return true
  const units = split === unitBy && value && !value.isOther ? [value.value] : (filters[unitBy] ?? [])
  return units.length === 1 && units[0] !== null && units[0] !== UNKNOWN
}

/** Returns the answers with the rows that they were made from. */
async function readMetrics(context: MetricsContext, given: MetricsRequest) {
  const { extent, today, request, asked, concerned } = await prepare(context, given)
  const { grain, split, top } = request
  const byAgent = split === 'agent'
  const [coverage, ...read] = await Promise.all([
    context.rows<CoverageRow>(coverageSql(concerned, { grain, byAgent, today })),
    ...statementsOf(asked, concerned, { grain, split, top, today }).map(async ({ metrics, sql }) => {
      const rows = await context.rows<StatementRow>(sql)
      return metrics.map((metric, at) => ({ metric, sql, rows: rowsOfMetric(rows, at) }))
    }),
  ])
  const found = new Map(read.flat().map(one => [one.metric, one]))
  const isCovered = coverageOf(coverage, { ...concerned, extent, byAgent })
  return asked.map(metric => {
    const { sql, rows } = found.get(metric)!
    const hasUnit = (value: SplitValue | null) => hasOneUnit(metric, request, value)
    const answer = answerOf({ metric, grain, hasUnit, ...concerned, rows, today, isCovered })
    return { metric, rows, answer: { ...answer, sql } }
  })
}

/**
 * Answers a request: for each metric its values by bucket and split, with observations, coverage and comparison.
 * @throws METRIC_UNKNOWN, METRIC_INVALID
 */
export const answerMetrics = async (context: MetricsContext, given: MetricsRequest): Promise<MetricAnswered[]> =>
  (await readMetrics(context, given)).map(({ answer }) => answer)

/** Returns the rows of the conversations behind a value as SQL (`FROM … WHERE …`). @throws METRIC_UNKNOWN, METRIC_INVALID */
export async function rowsBehind(context: MetricsContext, given: MetricsRequest): Promise<string> {
  const { request, asked, concerned } = await prepare(context, {
    ...given,
    metrics: given.metrics.slice(0, 1),
    compare: false,
  })
  const metric = asked[0]!
  if (metric.behind === null)
    throw new ConvohouseError('METRIC_INVALID', {
      what: `${metric.name} is computed from daily figures, which do not name conversations.`,
      hint: 'Ask for a metric of conversations with the same filters.',
    })
  const { bucket, period, grain } = request
  if (bucket !== undefined && !bucketsOf(period, grain).some(({ key }) => key === bucket))
    throw new ConvohouseError('METRIC_INVALID', {
      what: `The period has no bucket ${JSON.stringify(bucket)} of the grain ${grain}.`,
      hint: 'Give the `key` of one of the answer’s `buckets`, with the grain of that answer.',
    })
  return behindSql(metric, concerned, request)
}

/** Returns the keys of the conversations behind a value, newest first. @throws METRIC_UNKNOWN, METRIC_INVALID */
export async function conversationsBehind(context: MetricsContext, given: MetricsRequest): Promise<Behind> {
  const { limit } = given
  const sql = conversationsSql(await rowsBehind(context, given), limit + 1)
  const found = await context.rows<ConversationKey>(sql)
  return { conversations: found.slice(0, limit), truncated: found.length > limit, sql }
}

/** Maximum number of values of a dimension that an explanation distinguishes; the others contribute together. */
const EXPLAINED_VALUES = 200

/**
 * Splits the change of a metric against the period before into contributions of the values of a dimension.
 * @throws METRIC_UNKNOWN, METRIC_INVALID
 */
export async function explainMetric(context: MetricsContext, given: MetricsRequest): Promise<ExplanationAnswer> {
  const metric = metricNamed(context.metrics, given.metrics[0]!)
  const { split } = given
  if (!split)
    throw new ConvohouseError('METRIC_INVALID', {
      what: 'An explanation needs the dimension whose values explain the change.',
      hint: 'Give `split`.',
    })
  const notAdditive = new ConvohouseError('METRIC_INVALID', {
    what: `Parts of ${metric.name} do not add up to the whole, so they cannot explain its change.`,
    hint: 'Ask for a count, a sum, a share or an average, and split sums of money, in one known currency, by another dimension.',
  })
  const { unitBy } = metric
  const isOfUnknown = unitBy !== null && [null, UNKNOWN].includes(given.filters[unitBy]?.[0] ?? null)
  if (!metric.isAdditive || metric.isLevel || split === unitBy || isOfUnknown) throw notAdditive
  const wanted = { metrics: [metric.name], grain: 'none' as const, compare: true, top: EXPLAINED_VALUES }
  const [read] = await readMetrics(context, { ...given, ...wanted })
  const { answer, rows } = read!
  const { value, isUnfinished, comparedWith } = answer.series.at(-1)!.total!
  const without = (whyNone: string) => ({ explanation: null, whyNone })
  if (isUnfinished) return without('The period is not over.')
  if (!comparedWith) return without('A period was not exported completely.')
  const isQuotient = metric.denominator !== null
  const none: Parts = { numerator: 0, denominator: isQuotient ? 0 : 1 }
  const values = new Map<string, { key: SplitValue; before: Parts; after: Parts }>()
  for (const row of rows) {
    const key = splitOf(row)
    if (!key) continue
    const one = values.get(splitKey(key)) ?? { key, before: none, after: none }
    const parts = { numerator: row.numerator ?? 0, denominator: row.denominator ?? none.denominator }
    values.set(splitKey(key), { ...one, [row.isBefore ? 'before' : 'after']: parts })
  }
  const explained =
    value === null || comparedWith.value === null ? null : explainChange([...values.values()], isQuotient)
  if (!explained) return without('A period has too few observations.')
  // A metric of the user may be a median, which nothing declares.
  const differs = (a: number, b: number) => Math.abs(a - b) > 1e-6 * Math.max(Math.abs(a), Math.abs(b))
  if (differs(explained.after, value!) || differs(explained.before, comparedWith.value!)) throw notAdditive
  const { period, periodBefore: before, sql } = answer
  return {
    explanation: { metric: metric.name, period, periodBefore: before!, split, sql, ...explained },
    whyNone: null,
  }
}
