// From the rows of a metric's statement to an answer: values with the number of observations, coverage and comparison.
import type { Cell, Compared, MetricAnswer, SplitValue } from './answer-format.ts'
import { isRankedByValue, type Metric } from './declaration.ts'
import { areAlike, type Bucket, bucketsOf, daysIn, type Grain, type Period } from './periods.ts'
import type { MetricRow } from './statement.ts'

/** Tells whether all agents concerned were exported for all days. Days after the data's as-of are not asked for. */
export type CoverageOf = (bucket: Bucket, split: SplitValue | null) => boolean

export interface AnswerInput {
  metric: Metric
  grain: Grain
  /** False for values of the split whose units are unlike or unknown, and are not added up. Null: for all of them. */
  hasUnit: (split: SplitValue | null) => boolean
  period: Period
  before: Period | null
  rows: readonly MetricRow[]
  /** The local day of the data's as-of, which is not over. */
  today: string
  isCovered: CoverageOf
}

/** A count without rows is 0 if the period was exported; a quotient, average or quantile of none is unknown. */
function valueIn(
  { denominator: divisor, minimum }: Metric,
  row: MetricRow | undefined,
  covered: boolean,
): number | null {
  if (!row) return minimum === 0 && covered ? 0 : null
  const { numerator, denominator, n } = row
  if (n < minimum || numerator === null) return null
  if (divisor === null) return numerator
  return denominator ? numerator / denominator : null
}

export const splitKey = ({ workspaceId, value, isOther }: SplitValue): string =>
  JSON.stringify([workspaceId, value, isOther])

export const splitOf = ({ isSplit, isOther, workspace, value, label }: MetricRow): SplitValue | null =>
  isSplit ? { workspaceId: workspace, value, label, isOther } : null

const rowKey = (isBefore: boolean, bucket: string | null, split: SplitValue | null): string =>
  JSON.stringify([isBefore, bucket, split && splitKey(split)])

/** Returns the splits of the period by rank; those of the period before alone are in the answer too, last. */
function splitsIn(metric: Metric, rows: readonly MetricRow[]): SplitValue[] {
  const all = new Map<string, { split: SplitValue; rank: number }>()
  const rankOf = (row: MetricRow) => (isRankedByValue(metric) ? (row.numerator ?? 0) : row.n)
  for (const row of rows) {
    const split = splitOf(row)
    if (!split || row.bucket !== null) continue
    const known = all.get(splitKey(split))
    const rank = (known?.rank ?? 0) + (row.isBefore ? 0 : rankOf(row))
    all.set(splitKey(split), { split: known?.split ?? split, rank })
  }
  return [...all.values()]
    .sort((a, b) => Number(a.split.isOther) - Number(b.split.isOther) || b.rank - a.rank)
    .map(({ split }) => split)
}

/** Returns the answer of one metric. */
export function answerOf({
  metric,
  grain,
  hasUnit,
  period,
  before,
  rows,
  today,
  isCovered,
}: AnswerInput): MetricAnswer {
  const found = new Map(rows.map(row => [rowKey(row.isBefore, row.bucket, splitOf(row)), row]))
  const buckets = bucketsOf(period, grain)
  const bucketsBefore = before ? bucketsOf(before, grain) : []
  const side = (isBefore: boolean, bucket: string | null, days: Bucket, split: SplitValue | null): Compared => {
    const row = found.get(rowKey(isBefore, bucket, split))
    const covered = !metric.needsCoverage || isCovered(days, split)
    return { value: hasUnit(split) ? valueIn(metric, row, covered) : null, n: row?.n ?? 0, isCovered: covered }
  }
  // Sums of unlike parts of two periods, such as the three and the five days of a first week, are not compared.
  const isSum = !metric.isLevel && (isRankedByValue(metric) || (metric.unit === 'count' && !metric.denominator))
  const hasAllWeekdays = !grain.startsWith('weekday') || daysIn(period) % 7 === 0
  const comparable = (bucket: Bucket, other: Bucket | undefined): Bucket | null =>
    other && (!isSum || (areAlike(bucket, other) && hasAllWeekdays)) ? other : null
  const cell = (days: Bucket, key: string | null, other: Bucket | null, split: SplitValue | null): Cell => {
    const own = side(false, key, days, split)
    const isUnfinished = days.to >= today
    const compared =
      other && !isUnfinished && own.isCovered ? side(true, key === null ? null : other.key, other, split) : null
    return { ...own, isUnfinished, comparedWith: compared?.isCovered ? compared : null }
  }
  const series = [...splitsIn(metric, rows), null].map(split => {
    const total = cell({ key: '', ...period }, null, before && { key: '', ...before }, split)
    if (grain === 'none') return { split, cells: [total], total }
    const cells = buckets.map((bucket, at) => cell(bucket, bucket.key, comparable(bucket, bucketsBefore[at]), split))
    return { split, cells, total: metric.isLevel ? null : total }
  })
  return { metric: metric.name, unit: metric.unit, period, periodBefore: before, buckets, series }
}
