// Statements answer a request as a recomputation from single rows does, whatever is asked.
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { answerOf } from '../../src/metrics/answer.ts'
import { averageScore, countOf, duration, metricsOf, share, sumOf } from '../../src/metrics/declaration.ts'
import { addDays, bucketsOf, GRAINS, type Grain, periodBefore } from '../../src/metrics/periods.ts'
import { rowsOfMetric, type StatementRow, statementsOf } from '../../src/metrics/statement.ts'
import { rounds } from '../tier.ts'

interface Fact {
  workspace_id: string
  agent_id: string
  channel: string | null
  day: string
  local_hour: number
  is_counted: boolean
  score: number | null
  resolved: boolean
}

const FROM = '2026-02-20'

const fact = fc.record<Fact>({
  workspace_id: fc.constantFrom('w1', 'w2'),
  agent_id: fc.constantFrom('a', 'b', `c'd`),
  channel: fc.constantFrom('web', 'voice', 'mail', null),
  day: fc.nat(40).map(days => addDays(FROM, days - 20)),
  local_hour: fc.nat(23),
  is_counted: fc.boolean(),
  score: fc.option(fc.integer({ min: 0, max: 10 })),
  resolved: fc.boolean(),
})

const [COUNT, SUM, RESOLVED, SCORE, MEDIAN] = metricsOf(
  'Test',
  { mart: 'facts', title: '', definition: '', misleads: '', dimensions: ['workspace', 'agent', 'channel'] },
  {
    count: countOf(),
    sum: sumOf('score'),
    resolved: { ...share('resolved'), minimum: 2 },
    score: { ...averageScore('score'), minimum: 1 },
    median: { ...duration('score'), minimum: 1 },
  },
)

/** The same by hand, over the rows of one cell. */
const BY_HAND: Record<string, (rows: Fact[]) => { value: number | null; n: number }> = {
  count: rows => ({ value: rows.length, n: rows.length }),
  sum: rows => {
    const sum = rows.reduce((all, { score }) => all + (score ?? 0), 0)
    return { value: sum, n: sum }
  },
  resolved: rows => {
    const value = rows.length < 2 ? null : rows.filter(({ resolved }) => resolved).length / rows.length
    return { value, n: rows.length }
  },
  score: rows => {
    const scores = rows.flatMap(({ score }) => score ?? [])
    return { value: scores.length ? scores.reduce((a, b) => a + b, 0) / scores.length : null, n: scores.length }
  },
  median: rows => {
    const scores = rows.flatMap(({ score }) => score ?? []).sort((a, b) => a - b)
    const middle = (scores.length - 1) / 2
    const value = scores.length ? (scores[Math.floor(middle)]! + scores[Math.ceil(middle)]!) / 2 : null
    return { value, n: scores.length }
  },
}

const keyOf = ({ day, local_hour }: Fact, grain: Grain): string => {
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
  const keys: Record<Grain, string> = {
    none: '',
    hour: `${day} ${String(local_hour).padStart(2, '0')}`,
    day,
    week: addDays(day, -weekday),
    month: `${day.slice(0, 8)}01`,
    weekday: String(weekday + 1),
    local_hour: String(local_hour),
    weekday_hour: `${weekday + 1} ${String(local_hour).padStart(2, '0')}`,
  }
  return keys[grain]
}

let instance: DuckDBInstance
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:', { threads: '1' })
})
afterAll(() => instance.closeSync())

it('any split, grain, filter and comparison equals a recomputation from the rows', async () => {
  const connection = await instance.connect()
  await connection.run('CREATE SCHEMA IF NOT EXISTS marts')
  const request = fc.record({
    facts: fc.array(fact, { maxLength: 120 }),
    metrics: fc.shuffledSubarray([COUNT!, SUM!, RESOLVED!, SCORE!, MEDIAN!], { minLength: 1 }),
    grain: fc.constantFrom(...GRAINS),
    split: fc.constantFrom('agent' as const, 'channel' as const, undefined),
    top: fc.integer({ min: 1, max: 3 }),
    days: fc.integer({ min: 1, max: 20 }),
    compare: fc.boolean(),
    agents: fc.option(fc.subarray(['a', 'b', `c'd`, 'w1/a'], { minLength: 1 })),
  })
  const check = fc.asyncProperty(request, async ({ facts, metrics, grain, split, top, days, compare, agents }) => {
    const period = { from: FROM, to: addDays(FROM, days - 1) }
    const before = compare ? periodBefore(period) : null
    await connection.run(
      'CREATE OR REPLACE TABLE marts.facts (workspace_id VARCHAR, agent_id VARCHAR, agent_title VARCHAR, channel VARCHAR, day DATE, local_hour BIGINT, is_counted BOOLEAN, score DOUBLE, resolved BOOLEAN)',
    )
    const tuples = facts.map(one => {
      const text = (value: string | null) => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`)
      const { workspace_id, agent_id, channel, day, local_hour, is_counted, score, resolved } = one
      return `(${[text(workspace_id), text(agent_id), text(`Agent ${agent_id}`), text(channel), text(day), local_hour, is_counted, score ?? 'NULL', resolved].join(', ')})`
    })
    if (tuples.length > 0) await connection.run(`INSERT INTO marts.facts VALUES ${tuples.join(', ')}`)
    const statements = statementsOf(
      metrics,
      { period, before, filters: agents ? { agent: agents } : {} },
      { grain, split, top, today: '2030-01-01' },
    )
    if (!split) expect(statements).toHaveLength(1)
    const read = statements.map(async statement => {
      const reader = await connection.runAndReadAll(statement.sql)
      const rows = reader.getRowObjectsJS() as unknown as StatementRow[]
      return statement.metrics.map((metric, at) => ({ metric, rows: rowsOfMetric(rows, at) }))
    })
    const answered = (await Promise.all(read)).flat()
    expect(new Set(answered.map(({ metric }) => metric))).toEqual(new Set(metrics))

    const kept = facts.filter(
      one =>
        one.is_counted &&
        (!agents || agents.includes(one.agent_id) || agents.includes(`${one.workspace_id}/${one.agent_id}`)),
    )
    const within = (of: { from: string; to: string }) => kept.filter(({ day }) => day >= of.from && day <= of.to)
    const splitBy = (one: Fact) => (split === 'agent' ? [one.workspace_id, one.agent_id] : [null, one.channel])
    for (const { metric, rows } of answered) {
      const whole = { period, before, rows, today: '2030-01-01', isCovered: () => true }
      const answer = answerOf({ metric, grain, hasUnit: () => true, ...whole })
      const named = answer.series.flatMap(({ split }) => (split && !split.isOther ? [split] : []))
      const isNamed = (one: Fact) =>
        named.some(name => name.workspaceId === splitBy(one)[0] && name.value === splitBy(one)[1])
      for (const { split: of, cells, total } of answer.series) {
        const mine = (one: Fact) => {
          if (of === null) return true
          return of.isOther ? !isNamed(one) : of.workspaceId === splitBy(one)[0] && of.value === splitBy(one)[1]
        }
        const byHand = BY_HAND[metric.name]!
        expect(total).toMatchObject(byHand(within(period).filter(mine)))
        if (before) expect(total!.comparedWith).toMatchObject(byHand(within(before).filter(mine)))
        else expect(total!.comparedWith).toBeNull()
        expect(cells).toHaveLength(bucketsOf(period, grain).length)
        for (const [at, cell] of cells.entries()) {
          const inBucket = within(period).filter(one => mine(one) && keyOf(one, grain) === answer.buckets[at]!.key)
          expect(cell).toMatchObject(byHand(inBucket))
        }
      }
      if (split) expect(named.length).toBeLessThanOrEqual(top)
      if (metric !== COUNT && metric !== SUM) continue
      const largest = answer.series.flatMap(({ split, total }) => (split && !split.isOther ? [total!.value!] : []))
      const sumOfValue = (one: Fact) =>
        BY_HAND[metric.name]!(within(period).filter(other => `${splitBy(other)}` === `${splitBy(one)}`)).value!
      expect(largest).toEqual(largest.toSorted((a, b) => b - a))
      for (const one of kept)
        if (split && !isNamed(one)) expect(sumOfValue(one)).toBeLessThanOrEqual(largest.at(-1) ?? 0)
    }
  })
  await fc.assert(check, { numRuns: rounds('METRIC_STATEMENTS', { usual: 25, deep: 2_000 }) })
})

it('a value has one label, the newest', async () => {
  const connection = await instance.connect()
  await connection.run(`CREATE OR REPLACE TABLE marts.named AS FROM (VALUES
    ('w1', 'a', 'New', DATE '2026-02-22', true), ('w1', 'a', 'Older', DATE '2026-02-21', true), ('w1', 'a', NULL, DATE '2026-02-23', true)
  ) t(workspace_id, agent_id, agent_title, day, is_counted)`)
  const period = { from: FROM, to: '2026-02-28' }
  const [statement] = statementsOf(
    [{ ...COUNT!, mart: 'named' }],
    { period, before: null, filters: {} },
    { grain: 'none', split: 'agent', top: 3, today: '2030-01-01' },
  )
  const rows = (await connection.runAndReadAll(statement!.sql)).getRowObjectsJS()
  expect(rows.filter(({ isSplit }) => isSplit)).toMatchObject([{ value: 'a', label: 'New', numerator: 3 }])
  connection.closeSync()
})
