// Answers over small marts: coverage of hours, comparisons of unlike parts, units that are not added up, and parts that are no sums.
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { answerMetrics, explainMetric } from '../../src/metrics/answer-metrics.ts'
import { countOf, type MetricFields, metricOf } from '../../src/metrics/declaration.ts'
import { checkOf } from '../../src/metrics/own-metrics.ts'
import { metricsRequest } from '../../src/metrics/request.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'

const base = {
  ...{ title: '', subject: '', definition: '', misleads: '', mart: 'facts', where: 'true' },
  dimensions: ['workspace', 'channel', 'currency'] as const,
}
const METRICS = (
  [
    { ...base, name: 'count', ...countOf() },
    { ...base, name: 'value', unit: 'money', numerator: 'fsum(value)', unitBy: 'currency' },
    { ...base, name: 'lead_value', mart: 'leads', unit: 'money', numerator: 'fsum(value)', unitBy: 'currency' },
    { ...base, name: 'median', unit: 'seconds', numerator: 'median(value)' },
  ] satisfies MetricFields[]
).map(metricOf)

let instance: DuckDBInstance
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  const days = `unnest(range(DATE '2026-08-01', DATE '2026-11-02', INTERVAL 1 DAY))::DATE`
  await connection.run(`CREATE SCHEMA marts;
    CREATE TABLE marts.coverage_daily AS SELECT 'w' AS workspace_id, 'a' AS agent_id, ${days} AS day, true AS is_covered;
    CREATE TABLE marts.facts AS SELECT * RENAME (currency AS lead_currency), row_number() OVER () % 10 + 1 AS value FROM (
      SELECT 'w' AS workspace_id, 'a' AS agent_id, ${days} AS day, 13 AS local_hour, channel, currency
      FROM (VALUES ('web', 'EUR'), ('voice', 'USD')) t(channel, currency));
    CREATE TABLE marts.leads AS FROM marts.facts UNION ALL SELECT * REPLACE ('unknown' AS lead_currency) FROM marts.facts WHERE channel = 'web'`)
})
afterAll(() => instance.closeSync())

function context() {
  const columns = new Set(
    ['day', 'local_hour', 'channel', 'lead_currency', 'workspace_id'].flatMap(name => [
      `facts.${name}`,
      `leads.${name}`,
    ]),
  )
  return { rows: rowsHere(instance, { timeoutMs: 60_000 }), columns, metrics: METRICS }
}

const OCTOBER = { from: '2026-10-01', to: '2026-10-31' }

async function answer(given: object) {
  const [one] = await answerMetrics(context(), metricsRequest.parse({ period: OCTOBER, ...given }))
  return one!
}

it('hours are covered as their days are, and compared', async () => {
  const period = { from: '2026-10-05', to: '2026-10-06' }
  const { series } = await answer({ metrics: ['count'], period, grain: 'hour', compare: true })
  const { cells } = series.at(-1)!
  expect(cells.map(({ isCovered }) => isCovered)).toEqual(Array(48).fill(true))
  expect(cells[13]).toMatchObject({ value: 2, comparedWith: { value: 2 } })
})

it('sums over parts of unlike length are not compared, and averages are', async () => {
  const compared = async (given: object) =>
    (await answer({ compare: true, ...given })).series.at(-1)!.cells.map(({ comparedWith }) => comparedWith?.value)
  // Weeks of 3, 7, 7, 7 and 6 days; before them of 5, 7, 7, 7 and 4.
  const period = { from: '2026-10-02', to: '2026-10-31' }
  expect(await compared({ metrics: ['count'], period, grain: 'week' })).toEqual([undefined, 14, 14, 14, undefined])
  expect(await compared({ metrics: ['count'], period, grain: 'weekday' })).toEqual(Array(7).fill(undefined))
  expect(await compared({ metrics: ['count'], grain: 'month' })).toEqual([60])
})

it('values of unlike units have no total, no others and no explanation', async () => {
  const given = { metrics: ['value'], split: 'currency' }
  const { series } = await answer({ ...given, top: 1 })
  expect(series.map(({ total }) => total!.value)).toEqual([expect.any(Number), null, null])
  const one = await answer({ ...given, filters: { currency: ['EUR'] } })
  expect(one.series.at(-1)!.total!.value).toBeGreaterThan(0)
  const request = metricsRequest.parse({ ...given, period: OCTOBER })
  await expect(explainMetric(context(), request)).rejects.toMatchObject({ code: 'METRIC_INVALID' })
})

it('values of unknown unit are counted, but not added up, and not explained', async () => {
  const all = await answer({ metrics: ['lead_value'], split: 'currency' })
  const unknown = all.series.find(({ split }) => split?.value === 'unknown')
  expect(unknown!.total).toMatchObject({ value: null, n: 31 })
  const filters = { currency: ['unknown'] }
  for (const given of [{}, { split: 'currency' }, { split: 'channel' }]) {
    const { series } = await answer({ metrics: ['lead_value'], filters, ...given })
    for (const { total } of series) expect(total).toMatchObject({ value: null, n: 31 })
  }
  const request = metricsRequest.parse({ metrics: ['lead_value'], filters, split: 'channel', period: OCTOBER })
  await expect(explainMetric(context(), request)).rejects.toMatchObject({ code: 'METRIC_INVALID' })
})

it('a workspace without data has the relative periods of all data', async () => {
  const { period, series } = await answer({
    ...{ metrics: ['count'], period: 'last-7-days', filters: { workspace: ['nowhere'] } },
  })
  expect(period).toEqual({ from: '2026-10-25', to: '2026-10-31' })
  expect(series.at(-1)!.total).toMatchObject({ value: null, n: 0, isCovered: false })
})

it('a metric of the user shares no statement', async () => {
  const [count] = METRICS
  const metrics = [count!, { ...count!, name: 'own', isOwn: true }, { ...count!, name: 'ours' }]
  const given = metricsRequest.parse({ metrics: ['count', 'own', 'ours'], period: OCTOBER })
  const [first, own, ours] = await answerMetrics({ ...context(), metrics }, given)
  expect([first!.sql === ours!.sql, first!.sql === own!.sql]).toEqual([true, false])
})

it('a metric whose parts do not add up, which nothing declares, has no explanation', async () => {
  const explained = (metric: string) =>
    explainMetric(context(), metricsRequest.parse({ metrics: [metric], period: OCTOBER, split: 'channel' }))
  expect((await explained('count')).explanation).toMatchObject({ before: 60, after: 62 })
  await expect(explained('median')).rejects.toMatchObject({ code: 'METRIC_INVALID' })
})

it('the check of a metric computes it, so that values of which it can make no number are found', async () => {
  const [count] = METRICS
  const found = (numerator: string) => {
    const { sql } = checkOf({ name: 'own', metric: { ...count!, numerator } })
    return context().rows(`SELECT count(*)::DOUBLE AS n FROM (${sql})`)
  }
  expect(await found('sum(value)')).toEqual([{ n: 0 }])
  await expect(found('sum(channel::DOUBLE)')).rejects.toMatchObject({ message: expect.stringMatching(/^Conversion/) })
})
