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
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { diskErrorText } from '../core/disk.ts'
import type { Check } from '../warehouse/checks/declaration.ts'
import { METRICS } from './all-metrics.ts'
import { type Metric, type MetricFields, metricOf, metricProblem } from './declaration.ts'
import { columnsOf, DIMENSIONS, type DimensionName, EVERYWHERE } from './dimensions.ts'

const expression = z.string().min(1).max(10_000)
const sentence = z.string().min(1).max(500)
const dimension = z.enum(Object.keys(DIMENSIONS) as DimensionName[])

const declared = z.strictObject({
  title: z.string().min(1).max(80),
  subject: z.string().min(1).max(80).default('Your metrics'),
  definition: sentence,
  misleads: sentence,
  unit: z.enum(['count', 'share', 'seconds', 'usd', 'tokens', 'score', 'money', 'unstated']),
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

function declaredIn(name: string, text: string, taken: ReadonlySet<string>): OwnMetric {
  let given: unknown
  try {
    given = parse(text)
  } catch (error) {
    return { name, metric: null, problem: `it is no YAML: ${String((error as Error).message).split('\n')[0]}` }
  }
  const result = declared.safeParse(given)
  if (!result.success) {
    const { path, message } = result.error.issues[0]!
    return { name, metric: null, problem: [path.join('.'), message].filter(part => part !== '').join(': ') }
  }
  const dimensions = [...new Set([...EVERYWHERE, ...result.data.dimensions])]
  const metric = metricOf({ ...result.data, name, dimensions } as MetricFields)
  const problem = metricProblem(metric, taken)
  return problem === null ? { name, metric } : { name, metric: null, problem }
}

/** Returns the metrics of a folder. A file or folder that cannot be read becomes one that says so. */
export async function ownMetrics(folder: string): Promise<OwnMetric[]> {
  const taken = new Set(METRICS.map(({ name }) => name))
  const files = await readdir(folder).catch(error => diskErrorText(error))
  if (typeof files === 'string')
    return [{ name: 'metrics', metric: null, problem: `the folder ${folder} cannot be read: ${files}` }]
  const own: OwnMetric[] = []
  for (const file of files.filter(one => /\.ya?ml$/.test(one)).sort()) {
    const name = file.slice(0, -extname(file).length)
    const text = await readFile(join(folder, file), 'utf8').catch(error => ({ problem: diskErrorText(error) }))
    const one = typeof text === 'string' ? declaredIn(name, text, taken) : { name, metric: null, ...text }
    taken.add(name)
    own.push(one)
  }
  return own
}

/** Returns a check that DuckDB can compute the metric; it cannot run if DuckDB cannot. */
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
WHERE (${metric.where}) AND (${metric.behind ?? 'true'}) HAVING false`
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
