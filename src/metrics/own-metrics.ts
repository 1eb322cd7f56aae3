// Metrics of the user: each `.yaml` file of the folder `metrics` declares one.
//
//   title: Conversations of important contacts
//   definition: Share of conversations whose contact has the tag vip.
//   misleads: Tags are set by hand.
//   unit: share
//   mart: fct_conversations
//   numerator: count(*) FILTER (lead_temperature = 'hot')
//   denominator: count(*)
//   dimensions: [agent, channel]
import { z } from 'zod'
import type { Check } from '../warehouse/checks/declaration.ts'
import { METRICS } from './all-metrics.ts'
import { METRIC_UNITS, type Metric, type MetricFields, metricOf, metricProblem } from './declaration.ts'
import { columnsOf, DIMENSIONS, type DimensionName, EVERYWHERE } from './dimensions.ts'
import { declaredIn, type YamlFile, yamlFiles } from './yaml-files.ts'

const expression = z.string().min(1).max(10_000)
const sentence = z.string().min(1).max(500)
const dimension = z.enum(Object.keys(DIMENSIONS) as DimensionName[])

const declaration = z.strictObject({
  title: z.string().min(1).max(80),
  subject: z.string().min(1).max(80).default('Your metrics'),
  definition: sentence,
  misleads: sentence,
  unit: z.enum(METRIC_UNITS),
  better: z.enum(['higher', 'lower']).optional(),
  mart: z.string().regex(/^[a-z][a-z0-9_]*$/, 'must be the name of a mart'),
  where: expression.optional(),
  numerator: expression,
  denominator: expression.optional(),
  n: expression.optional(),
  minimum: z.int().min(0).optional(),
  needsCoverage: z.boolean().optional(),
  isAdditive: z.boolean().optional(),
  dimensions: z.array(dimension).default([]),
  unitBy: dimension.optional(),
  behind: expression.optional(),
})

/** A metric of the user. `problem`: why it cannot be used. */
export interface OwnMetric {
  name: string
  metric: Metric | null
  problem?: string
}

function metricIn(file: YamlFile, taken: ReadonlySet<string>): OwnMetric {
  const { name } = file
  const result = declaredIn(declaration, file)
  if ('problem' in result) return { name, metric: null, problem: result.problem }
  const dimensions = [...new Set([...EVERYWHERE, ...result.declared.dimensions])]
  const metric = metricOf({ ...result.declared, name, dimensions, isOwn: true } as MetricFields)
  const problem = metricProblem(metric, taken)
  return problem === null ? { name, metric } : { name, metric: null, problem }
}

/** Returns the metrics of a folder. A file or folder that cannot be read becomes one that says so. */
export async function ownMetrics(folder: string): Promise<OwnMetric[]> {
  const taken = new Set(METRICS.map(({ name }) => name))
  const files = await yamlFiles(folder)
  if (typeof files === 'string') return [{ name: 'metrics', metric: null, problem: files }]
  return files.map(file => {
    const one = metricIn(file, taken)
    taken.add(one.name)
    return one
  })
}

/** Returns a check that DuckDB can compute the metric, which it does: a value may be no number. It cannot run if DuckDB cannot. */
export function checkOf({ name, metric, problem }: OwnMetric): Check {
  const values = metric && [metric.numerator, metric.denominator, metric.n].filter(sql => sql !== null)
  const columns = metric && ['workspace_id', 'agent_id', 'day', ...columnsOf(metric.dimensions)]
  return {
    name: `metric_${name}`,
    about: `The metric ${name} can be computed.`,
    severity: 'error',
    blocks: false,
    table: metric ? `marts.${metric.mart}` : '',
    key: [],
    sql: metric
      ? `SELECT ${values!.map(sql => `(${sql})::DOUBLE`).join(', ')}, any_value((${columns!.join(', ')})) FROM marts.${metric.mart}
WHERE (${metric.where}) AND (${metric.behind ?? 'true'}) HAVING max(day) < min(day) AND coalesce(${values!.map(sql => `(${sql})::DOUBLE`).join(', ')}) = 0`
      : '',
    isOwn: true,
    ...(problem !== undefined && { problem }),
  }
}

/** Returns convohouse's metrics and the usable ones of the user's folder, and why others cannot be used. */
export async function allMetrics(folder: string | null): Promise<{ metrics: Metric[]; problems: string[] }> {
  const own = folder === null ? [] : await ownMetrics(folder)
  return {
    metrics: [...METRICS, ...own.flatMap(({ metric }) => metric ?? [])],
    problems: own.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`The metric ${name} cannot be used: ${problem}`],
    ),
  }
}
