// A metric is one figure over one mart, declared once: HTTP, MCP, dashboards and `docs/metrics.md` derive from it.
import { DIMENSIONS, type DimensionName } from './dimensions.ts'

/** `unstated`: the vendor does not say. Values of this unit are never compared with those of another metric. */
export const METRIC_UNITS = ['count', 'share', 'seconds', 'usd', 'tokens', 'score', 'money', 'unstated'] as const
export type MetricUnit = (typeof METRIC_UNITS)[number]

export interface Metric {
  name: string
  title: string
  /** Heading under which `docs/metrics.md` lists it. */
  subject: string
  /** One sentence. */
  definition: string
  /** One sentence that says when the figure misleads. */
  misleads: string
  unit: MetricUnit
  /** Which direction is good; null if neither is. */
  better: 'higher' | 'lower' | null
  /** Name of the mart. It has the columns `workspace_id`, `agent_id` and `day`. */
  mart: string
  /** SQL condition on the mart's rows. */
  where: string
  /** SQL aggregates over these rows. Without a denominator the numerator is the value. */
  numerator: string
  denominator: string | null
  /** SQL aggregate: number of observations that the value rests on. */
  n: string
  /** With fewer observations the value is null. */
  minimum: number
  /** True if the value is wrong where the export of an agent and day is incomplete. */
  needsCoverage: boolean
  dimensions: readonly DimensionName[]
  /** Dimension whose values have different units, such as currencies. A request splits by it or selects one value. */
  unitBy: DimensionName | null
  /** True for a level at the end of a day, which is never added up over days: a period has that of its last day. */
  isLevel: boolean
  /** True if numerator and denominator are sums over rows, so that parts of a split add up to the whole. */
  isAdditive: boolean
  /** SQL condition for the rows of the conversations that the numerator counts; null if there are none to show. */
  behind: string | null
  /** True for a metric of the user, whose SQL may fail: it shares no statement. */
  isOwn: boolean
}

/** What most metrics leave as it is. */
const DEFAULTS = {
  where: 'is_counted',
  denominator: null,
  needsCoverage: true,
  unitBy: null,
  isLevel: false,
  isAdditive: true,
  better: null,
  behind: null,
  isOwn: false,
} satisfies Partial<Metric>

type Optional = keyof typeof DEFAULTS | 'minimum' | 'n'

export type MetricFields = Omit<Metric, Optional> & Partial<Pick<Metric, Optional>>

/** Minimum number of observations of a share, an average or a quantile. */
export const MINIMUM_OBSERVATIONS = 10

/** Returns a metric with the defaults filled in. */
export function metricOf(fields: MetricFields): Metric {
  const isCount = fields.denominator === undefined && fields.n === undefined
  const minimum = isCount ? 0 : MINIMUM_OBSERVATIONS
  return { ...DEFAULTS, n: fields.denominator ?? 'count(*)', minimum, ...fields }
}

/** Returns metrics of one subject, by name. `shared`: fields of those that do not give others. */
export const metricsOf = <S extends Omit<Partial<MetricFields>, 'name' | 'subject'>>(
  subject: string,
  shared: S,
  all: Readonly<Record<string, Omit<MetricFields, 'name' | 'subject' | keyof S> & Partial<MetricFields>>>,
): Metric[] =>
  Object.entries(all).map(([name, fields]) => metricOf({ ...shared, ...fields, name, subject } as MetricFields))

type Better = Pick<Metric, 'better'>

/** Returns the fields of the share of rows that meet a condition. `of`: the rows that can meet it. */
export const share = (condition: string, { of = 'true', better = null }: Partial<{ of: string } & Better> = {}) => ({
  unit: 'share' as const,
  better,
  numerator: `count(*) FILTER ((${condition}) AND (${of}))`,
  denominator: `count(*) FILTER (${of})`,
  behind: `(${condition}) AND (${of})`,
})

/** Returns the fields of a count of rows that meet a condition. */
export const countOf = (condition = 'true') => ({
  unit: 'count' as const,
  numerator: `count(*) FILTER (${condition})`,
  behind: condition,
})

/** Returns the fields of a sum of counts. The observations are what is counted, not the rows of the mart, which are days. */
export const sumOf = (column: string) => {
  const sum = `coalesce(sum(${column}), 0)`
  return { unit: 'count' as const, numerator: sum, n: sum, minimum: 0 }
}

/** Returns the fields of a quantile of the known durations, by default the median. */
export const duration = (seconds: string, { q = 0.5, better = 'lower' }: Partial<{ q: number } & Better> = {}) => ({
  unit: 'seconds' as const,
  better,
  numerator: `quantile_cont(${seconds}, ${q})`,
  n: `count(${seconds})`,
  isAdditive: false,
  behind: `${seconds} IS NOT NULL`,
})

/** Returns the fields of an average of the known scores, as a quotient of sums. */
export const averageScore = (score: string) => ({
  unit: 'score' as const,
  better: 'higher' as const,
  numerator: `fsum(${score})`,
  denominator: `count(${score})`,
  behind: `${score} IS NOT NULL`,
})

/** True if values of a split are ranked by the count or sum itself, not by observations. */
export const isRankedByValue = ({ denominator, isAdditive }: Metric): boolean => denominator === null && isAdditive

const NAME = /^[a-z][a-z0-9_]{0,62}$/

/** Returns what is wrong with a declaration; null if nothing is. `names`: those already taken. */
export function metricProblem(metric: Metric, names: ReadonlySet<string>): string | null {
  if (!NAME.test(metric.name)) return `the name "${metric.name}" is not small letters, digits and underscores`
  if (names.has(metric.name)) return `${metric.name} is the name of another metric`
  const unknown = metric.dimensions.find(name => !(name in DIMENSIONS))
  if (unknown) return `there is no dimension ${unknown}; there are ${Object.keys(DIMENSIONS).join(', ')}`
  if (metric.unitBy && !metric.dimensions.includes(metric.unitBy)) return `unitBy names no dimension of the metric`
  return null
}
