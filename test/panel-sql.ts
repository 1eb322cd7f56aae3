// The SQL of a dashboard's panels, from declared metrics. It runs in PostgreSQL and in DuckDB.
import { METRICS } from '../src/metrics/all-metrics.ts'
import type { Metric } from '../src/metrics/declaration.ts'
import { DIMENSIONS, type DimensionName } from '../src/metrics/dimensions.ts'

/** Returns the values that a reader has chosen. */
export const chosen = (name: string): string => `\${${name}:sqlstring}`
export const schema = (name: 'marts' | 'tables'): string => `\${${name}:raw}`

export const metricNamed = (name: string): Metric => METRICS.find(metric => metric.name === name)!

/** Returns an aggregate as PostgreSQL and DuckDB understand it. */
const portable = (sql: string): string =>
  sql
    .replace(/FILTER \((?!WHERE)/g, 'FILTER (WHERE ')
    .replace(/\bfsum\(/g, 'sum(')
    .replace(/quantile_cont\((\w+), ([\d.]+)\)/g, 'percentile_cont($2) WITHIN GROUP (ORDER BY $1)')

/** Returns the metric's value; NULL with too few observations. */
function valueSql({ numerator, denominator, n, minimum }: Metric): string {
  const value = denominator
    ? `(${portable(numerator)})::double precision / nullif(${portable(denominator)}, 0)`
    : portable(numerator)
  return minimum > 0 ? `CASE WHEN ${portable(n)} >= ${minimum} THEN ${value} END` : value
}

function rowsSql({ mart, where, dimensions, isLevel }: Metric, isOver: 'days' | 'period'): string {
  const from = `${schema('marts')}.${mart}`
  const kept = (['workspace', 'agent', 'channel'] as const).filter(name => dimensions.includes(name))
  const conditions = [
    where === 'true' ? [] : where,
    '$__timeFilter(day)',
    ...kept.map(name => `${DIMENSIONS[name].key} IN (${chosen(name)})`),
    isLevel && isOver === 'period' ? `day = (SELECT max(day) FROM ${from} WHERE $__timeFilter(day))` : [],
  ].flat()
  return `FROM ${from}\nWHERE ${conditions.join(' AND ')}`
}

/** Returns what identifies a value of the dimension, and its name. */
function splitSql(name: DimensionName): { keys: string[]; label: string } {
  const { key, label, isOfWorkspace } = DIMENSIONS[name]
  const shown = label ? `coalesce(max(${label}), ${key}, 'none')` : `coalesce(${key}, 'none')`
  return { keys: [isOfWorkspace ? 'workspace_id' : [], key].flat(), label: shown }
}

export interface Draft {
  kind: 'stat' | 'bars' | 'lines' | 'table'
  metrics: string[]
  title?: string
  /** Values with rows or lines of their own. */
  split?: DimensionName[]
  /** Of time series; default: day. Shares and quantiles of a day often rest on too few observations. */
  grain?: 'day' | 'week'
}

/** Returns the query of a panel. @throws if the metrics do not have the same rows */
export function panelSql({ kind, metrics, split = [], grain = 'day' }: Draft): string {
  const all = metrics.map(metricNamed)
  const isSeries = kind === 'bars' || kind === 'lines'
  const [rows, ...others] = new Set(all.map(metric => rowsSql(metric, isSeries ? 'days' : 'period')))
  if (others.length > 0) throw new Error(`${metrics.join(', ')} have different rows.`)
  const values = all.map(metric => `${valueSql(metric)} AS "${metric.title}"`)
  const by = split.map(splitSql)
  const labels = by.map(({ label }, at) => `${label} AS ${isSeries ? 'metric' : `"${DIMENSIONS[split[at]!].title}"`}`)
  const time = grain === 'day' ? 'day' : `date_trunc('week', day)::date`
  const columns = [isSeries ? `${time} AS "time"` : [], labels, values].flat()
  const keys = [isSeries ? time : [], by.flatMap(one => one.keys)].flat()
  const groups = keys.length > 0 ? `\nGROUP BY ${[...new Set(keys)].join(', ')}` : ''
  const order = {
    stat: '',
    bars: '\nORDER BY 1',
    lines: '\nORDER BY 1',
    table: `\nORDER BY ${labels.length + 1} DESC, 1`,
  }
  return `SELECT ${columns.join(',\n  ')}\n${rows}${groups}${order[kind]}${kind === 'table' ? ' LIMIT 100' : ''}`
}
