// What a request for metrics may ask, and the checks that need the declarations.
import { z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'
import type { Metric } from './declaration.ts'
import { DIMENSIONS, type DimensionName, isDimension } from './dimensions.ts'
import { GRAINS, isOfHours, isRelative, mostBuckets, type Period, relativePeriod } from './periods.ts'

/** Maximum number of buckets of one request: a year of days, or six weeks of hours. */
const MAX_BUCKETS = 1_100

const day = z.iso.date()

const period = z.union([
  z.string().refine(isRelative, 'must be last-N-days, last-N-weeks, last-N-months, today, this-week or this-month'),
  z.strictObject({ from: day, to: day }).refine(({ from, to }) => from <= to, 'must not end before it begins'),
])

/** A NUL would end the SQL. */
const text = z.string().regex(/^[^\0]*$/, 'must not contain a NUL')

const filters = z.partialRecord(
  z.enum(Object.keys(DIMENSIONS) as DimensionName[]),
  z.array(text.max(1_000).nullable()).min(1).max(1_000),
)

export const metricsRequest = z.strictObject({
  /** Names of metrics. */
  metrics: z.array(z.string()).min(1).max(20),
  period,
  grain: z.enum(GRAINS).default('none'),
  /** Values to keep, by dimension. An agent may be `WORKSPACE/AGENT`. */
  filters: filters.default({}),
  /** Dimension whose values get rows of their own. */
  split: z.enum(Object.keys(DIMENSIONS) as DimensionName[]).optional(),
  /** Number of values with rows of their own, the largest counts or sums, else the most observations; the others share one row. */
  top: z.int().min(1).max(1_000).default(10),
  /** Compares with the period before, of the same length. */
  compare: z.boolean().default(false),
  /**
   * `values`; `conversations`: those behind the value of the first metric, in `bucket` if that is given; `explanation`: which values of
   * `split` its change against the period before comes from.
   */
  ask: z.enum(['values', 'conversations', 'explanation']).default('values'),
  /** Key of a bucket of `grain`. */
  bucket: text.max(20).optional(),
  /** Maximum number of conversations. */
  limit: z.int().min(1).max(1_000).default(100),
})

export type MetricsRequest = z.output<typeof metricsRequest>

/** The request with its period as days. */
export type ResolvedRequest = Omit<MetricsRequest, 'period'> & { period: Period }

const refused = (what: string, hint: string) => new ConvohouseError('METRIC_INVALID', { what, hint })

/** Returns the declared metric. @throws METRIC_UNKNOWN */
export function metricNamed(all: readonly Metric[], name: string): Metric {
  const metric = all.find(one => one.name === name)
  if (metric) return metric
  throw new ConvohouseError('METRIC_UNKNOWN', {
    what: `There is no metric "${name}".`,
    hint: 'GET /v1/metrics (of an assistant: list_metrics) lists all metrics.',
  })
}

/** Returns the request with the period's days. `today`: the local day of the data's as-of. @throws METRIC_INVALID */
export function resolveRequest(request: MetricsRequest, today: string): ResolvedRequest {
  const resolved = typeof request.period === 'string' ? relativePeriod(request.period, today) : request.period
  const buckets = mostBuckets(resolved, request.grain)
  if (buckets > MAX_BUCKETS)
    throw refused(
      `The period has ${buckets} buckets, and a request may have ${MAX_BUCKETS}.`,
      'Ask for a shorter period or a coarser grain.',
    )
  // Beyond, the period before or the end of a month may be no valid day.
  const isOfDays = ['hour', 'day', 'week', 'month'].includes(request.grain)
  const isNear = resolved.from >= '1900' && resolved.to < '3000'
  if (!isNear && (request.compare || request.ask === 'explanation' || isOfDays))
    throw refused(
      'Only periods of the years 1900 to 2999 have grains and comparisons.',
      'Ask for a later or shorter one.',
    )
  return { ...request, period: resolved }
}

/** Returns an upper bound of the number of cells in the answer. */
export const mostCells = (request: MetricsRequest, today: string): number =>
  request.metrics.length *
  (request.split ? request.top + 2 : 1) *
  mostBuckets(resolveRequest(request, today).period, request.grain)

/** Returns the dimensions that a request filters or splits by. */
export const dimensionsUsed = ({ filters, split }: Pick<ResolvedRequest, 'filters' | 'split'>): DimensionName[] =>
  [...Object.keys(filters), split ?? []].flat().filter(isDimension)

/**
 * Checks that the metric can answer the request. `hasHours`: its mart has the column `local_hour`.
 * @throws METRIC_INVALID
 */
export function expectAnswerable(
  metric: Metric,
  request: Pick<ResolvedRequest, 'grain' | 'split' | 'filters'>,
  hasHours: boolean,
): void {
  const { grain, split, filters } = request
  const lacking = dimensionsUsed(request).find(name => !metric.dimensions.includes(name))
  if (lacking)
    throw refused(
      `${metric.name} has no dimension ${lacking}.`,
      `It can be split and filtered by ${metric.dimensions.join(', ')}.`,
    )
  if (metric.isLevel && (grain === 'weekday' || isOfHours(grain)))
    throw refused(
      `${metric.name} is a level at the end of a day, which has no ${grain}.`,
      'Ask for a grain of day, week or month, or none.',
    )
  if (isOfHours(grain) && !hasHours)
    throw refused(`${metric.name} is known by day, not by hour.`, 'Ask for a grain of day or coarser, or weekday.')
  const { unitBy } = metric
  if (unitBy && split !== unitBy && filters[unitBy]?.length !== 1)
    throw refused(
      `${metric.name} has a unit for each ${DIMENSIONS[unitBy].title.toLowerCase()}, and units are never added up.`,
      `Split by ${unitBy}, or filter by one value of it.`,
    )
}
