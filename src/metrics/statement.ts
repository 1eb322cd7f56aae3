// The SQL of the metrics of one request: one scan of a mart for both periods, all buckets, values of the split and totals.
import { quoteText } from '../catalog/layout.ts'
import { isRankedByValue, type Metric } from './declaration.ts'
import { DIMENSIONS, type DimensionName } from './dimensions.ts'
import { bucketSql, bucketsOf, type Grain, type Period } from './periods.ts'
import type { MetricsRequest } from './request.ts'

/** Which rows a metric is computed from. */
export interface Rows {
  period: Period
  /** The period to compare with. */
  before: Period | null
  filters: Partial<Record<DimensionName, readonly (string | null)[]>>
}

export interface Grouping {
  grain: Grain
  split?: DimensionName | undefined
  top: number
  /** The newest day of the data: the level of an unfinished bucket is that of this day. */
  today: string
}

/** A row of one metric. Totals over buckets or over values of the split are rows of their own. */
export interface MetricRow {
  isBefore: boolean
  /** Key of the bucket; null in a total over all buckets. */
  bucket: string | null
  /** False in a total over all values of the split. */
  isSplit: boolean
  /** True for the values beyond the first ones together. */
  isOther: boolean
  workspace: string | null
  value: string | null
  /** The newest of the value. */
  label: string | null
  numerator: number | null
  denominator: number | null
  n: number
}

/** A row of a statement: the second metric's figures are `numerator_2`, `denominator_2` and `n_2`. */
export type StatementRow = MetricRow & Record<string, unknown>

export interface Statement {
  metrics: readonly Metric[]
  sql: string
}

/** Returns the condition for a dimension's values. A value of a workspace may be `WORKSPACE/VALUE`; `WORKSPACE/` is no value. */
function filterSql(name: DimensionName, values: readonly (string | null)[]): string {
  const { key, isOfWorkspace } = DIMENSIONS[name]
  const texts = values.filter(value => value !== null)
  const listed = texts.map(quoteText).join(', ')
  const conditions = [
    texts.length > 0 && `${key} IN (${listed})`,
    isOfWorkspace &&
      texts.some(text => text.includes('/')) &&
      `workspace_id || '/' || coalesce(${key}, '') IN (${listed})`,
    values.includes(null) && `${key} IS NULL`,
  ].filter(Boolean)
  return `(${conditions.join(' OR ')})`
}

/** Returns the condition for rows of the period before. */
export const isBeforeSql = ({ period, before }: Rows): string => (before ? `day < DATE '${period.from}'` : 'false')

/** Returns the condition for the rows of the mart that a request concerns. */
export function rowsSql(where: string, { period, before, filters }: Rows): string {
  // The periods adjoin. One range lets DuckDB skip whole row groups.
  const days = `day BETWEEN DATE '${(before ?? period).from}' AND DATE '${period.to}'`
  const kept = Object.entries(filters).map(([name, values]) => filterSql(name as DimensionName, values))
  return [`(${where})`, days, ...kept].join(' AND ')
}

/** Returns the condition for the last day of each bucket: a day without rows has the level 0. */
function lastDaysSql({ period, before }: Rows, { grain, today }: Grouping): string {
  const buckets = [period, before ?? []].flat().flatMap(one => bucketsOf(one, grain))
  return `day IN (${buckets.map(({ to }) => `DATE '${to < today ? to : today}'`).join(', ')})`
}

const NO_TEXT = 'NULL::VARCHAR'

/** Returns the SQL by which values of a split are ranked. */
const rankSql = (metric: Metric): string => (isRankedByValue(metric) ? metric.numerator : metric.n)

const suffix = (at: number): string => (at === 0 ? '' : `_${at + 1}`)

/** Returns the rows of one of a statement's metrics. */
export const rowsOfMetric = (rows: readonly StatementRow[], at: number): MetricRow[] =>
  rows.map(row => {
    const [numerator, denominator, n] = ['numerator', 'denominator', 'n'].map(name => row[name + suffix(at)])
    return { ...row, numerator, denominator, n } as MetricRow
  })

/** Returns the statements for metrics: one for ours of the same rows which, if they are split, rank the values alike. */
export function statementsOf(metrics: readonly Metric[], rows: Rows, grouping: Grouping): Statement[] {
  const together = new Map<string, Metric[]>()
  for (const metric of metrics) {
    const own = metric.isOwn && metric.name
    const key = JSON.stringify([own, metric.mart, metric.where, metric.isLevel, grouping.split && rankSql(metric)])
    together.set(key, [...(together.get(key) ?? []), metric])
  }
  return [...together.values()].map(some => ({ metrics: some, sql: statementSql(some, rows, grouping) }))
}

function statementSql(metrics: readonly Metric[], rows: Rows, grouping: Grouping): string {
  const { grain, split, top } = grouping
  const metric = metrics[0]!
  const of = split && DIMENSIONS[split]
  const [workspace, value, label] = [of?.isOfWorkspace && 'workspace_id', of?.key, of?.label].map(sql => sql || NO_TEXT)
  const where = metric.isLevel ? `(${metric.where}) AND ${lastDaysSql(rows, grouping)}` : metric.where
  const ranked = `
ranked AS (
  SELECT _workspace, _value FROM found WHERE NOT _before GROUP BY ALL
  ORDER BY ${rankSql(metric)} DESC NULLS LAST, _workspace, _value LIMIT ${top}
),
shown AS (
  SELECT f.* REPLACE (
      CASE WHEN r.is_shown THEN f._workspace END AS _workspace, CASE WHEN r.is_shown THEN f._value END AS _value,
      CASE WHEN r.is_shown THEN f._label END AS _label),
    r.is_shown IS NULL AS _other
  FROM found f LEFT JOIN (SELECT *, true AS is_shown FROM ranked) r
    ON r._workspace IS NOT DISTINCT FROM f._workspace AND r._value IS NOT DISTINCT FROM f._value
)`
  const sets = [
    '(_before)',
    grain !== 'none' && '(_before, _bucket)',
    split && '(_before, _other, _workspace, _value)',
    split && grain !== 'none' && '(_before, _bucket, _other, _workspace, _value)',
  ].filter(Boolean)
  const figures = metrics.map(
    ({ numerator, denominator, n }, at) =>
      `(${numerator})::DOUBLE AS numerator${suffix(at)}, (${denominator ?? 'NULL'})::DOUBLE AS denominator${suffix(at)}, coalesce((${n})::DOUBLE, 0) AS n${suffix(at)}`,
  )
  return `WITH found AS (
  SELECT *, ${isBeforeSql(rows)} AS _before, ${bucketSql(grain)} AS _bucket, ${workspace} AS _workspace, ${value} AS _value, ${label} AS _label
  FROM marts.${metric.mart}
  WHERE ${rowsSql(where, rows)}
)${split ? `,${ranked}` : ''}
SELECT _before AS "isBefore", ${grain === 'none' ? 'NULL' : '_bucket::VARCHAR'} AS bucket,
  ${split ? 'grouping(_value) = 0 AS "isSplit", coalesce(_other, false) AS "isOther", _workspace AS workspace, _value AS value, arg_max(_label, day) AS label' : 'false AS "isSplit", false AS "isOther", NULL AS workspace, NULL AS value, NULL AS label'},
  ${figures.join(',\n  ')}
FROM ${split ? 'shown' : 'found'}
GROUP BY GROUPING SETS (${sets.join(', ')})`
}

/** Returns the rows of the conversations behind a metric's value, in one bucket or in the whole period, as `FROM … WHERE …`. */
export const behindSql = (
  metric: Metric,
  rows: Rows,
  { grain, bucket }: Pick<MetricsRequest, 'grain' | 'bucket'>,
): string =>
  `FROM marts.${metric.mart} WHERE ${rowsSql(metric.where, rows)} AND (${metric.behind})${
    bucket === undefined ? '' : ` AND (${bucketSql(grain)})::VARCHAR = ${quoteText(bucket)}`
  }`

/** Returns the SQL of conversations, newest first. `behind`: their rows. */
export const conversationsSql = (behind: string, limit: number): string =>
  `SELECT workspace_id, agent_id, conversation_id, max(day)::VARCHAR AS day ${behind}
GROUP BY workspace_id, agent_id, conversation_id ORDER BY day DESC, workspace_id, agent_id, conversation_id LIMIT ${limit}`
