// Runs the queries of the pages and dashboards for BI tools on a snapshot that `convohouse publish` has written from a sandbox's workspace.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import { answerMetrics } from '../../src/metrics/answer-metrics.ts'
import type { Metric } from '../../src/metrics/declaration.ts'
import { DIMENSIONS, type DimensionName } from '../../src/metrics/dimensions.ts'
import { metricsRequest } from '../../src/metrics/request.ts'
import { MAIN, openCliScene } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { conversationsDashboard } from '../conversations-dashboard.ts'
import { TOKEN_ENV } from '../scene.ts'
import { allChosen, type Chosen, expanded, queryPanels, readDashboard, type Target } from './grafana-dashboards.ts'

const PAGES = join(import.meta.dirname, '..', '..', 'docs', 'bi')
const RANGE = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }

interface Result {
  names: string[]
  types: string[]
  rows: unknown[][]
}

let instance: DuckDBInstance
let made: Awaited<ReturnType<typeof openCliScene>>
let ask: (sql: string) => Promise<Result>

beforeAll(async () => {
  made = await openCliScene({ conversations: 250, traffic: true })
  expect((await inProcess(['sync'], { env: made.env })).code).toBe(0)
  const path = join(made.home, 'published', 'dashboards.duckdb')
  const config = join(made.home, 'convohouse.yaml')
  const workspace = { id: 'ws_demo', apiUrl: 'http://127.0.0.1:9', token: { env: 'CONVOHOUSE_API_TOKEN' } }
  const target = { name: 'dashboards', type: 'snapshot', path }
  await writeFile(config, JSON.stringify({ home: made.home, threads: 1, targets: [target], workspaces: [workspace] }))
  const env = { PATH: process.env.PATH, ...TOKEN_ENV }
  await promisify(execFile)(process.execPath, [MAIN, 'publish', '--config', config], { env })
  instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY', threads: '1' })
  const connection = await instance.connect()
  // The time zone is not UTC, as on most machines of readers.
  await connection.run(`SET TimeZone = 'Asia/Tokyo'`)
  ask = async sql => {
    const reader = await connection.runAndReadAll(sql)
    return { names: reader.columnNames(), types: reader.columnTypes().map(String), rows: reader.getRowsJson() }
  }
})

afterAll(async () => {
  instance?.closeSync()
  await made.close()
})

describe('the dashboard of conversations', () => {
  const dashboard = readDashboard('conversations')
  let chosen: Chosen

  beforeAll(async () => {
    const values = async (sql: string) => (await ask(sql)).rows.map(row => String(row.at(-1)))
    // In a snapshot, the tables are in the schema `main` and the marts in `marts`.
    chosen = await allChosen(dashboard, values, { tables: 'main', marts: 'marts' })
  })

  const answerOf = (target: Target) => ask(expanded(target.rawSql!, chosen, RANGE))

  it.each(queryPanels(dashboard))('panel $title has rows, with the columns that its kind needs', async panel => {
    for (const target of panel.targets!) {
      const { names, types, rows } = await answerOf(target)
      expect(rows.length).toBeGreaterThan(0)
      const numbers = types.map(type => /^(BIGINT|HUGEINT|DOUBLE|DECIMAL)/.test(type))
      if (target.format === 'time_series') {
        expect([names[0], types[0]]).toEqual(['time', 'DATE'])
        const labels = names.filter((_, at) => types[at] === 'VARCHAR')
        expect(labels).toEqual(names.includes('metric') ? ['metric'] : [])
        expect(numbers.slice(1 + labels.length)).not.toContain(false)
        const days = rows.map(([day]) => String(day))
        expect(days).toEqual(days.toSorted())
      }
      if (panel.type === 'stat') expect([rows.length, numbers]).toEqual([1, [true]])
      for (const { matcher } of panel.fieldConfig!.overrides) expect(names).toContain(matcher.options)
    }
  })

  it('fills every column, except where a week has too few observations', async () => {
    const empty: string[] = []
    for (const panel of queryPanels(dashboard)) {
      const { names, rows } = await answerOf(panel.targets![0]!)
      for (const [at, name] of names.entries())
        if (rows.every(row => row[at] === null)) empty.push(`${panel.title}: ${name}`)
    }
    expect(empty).toEqual(
      ['median', '90th percentile'].map(of => `Wait for a person, by week: Wait for a person (${of})`),
    )
  })

  it('shows the values of the declared metrics, alone and by value of a split', async () => {
    const rows = async <R>(sql: string) => {
      const { names, rows } = await ask(sql)
      return rows.map(row => Object.fromEntries(names.map((name, at) => [name, row[at]]))) as R[]
    }
    const columns = await rows<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM duckdb_columns() WHERE schema_name = 'marts'`,
    )
    const context = { rows, columns: new Set(columns.map(({ name }) => name)), metrics: METRICS }
    const valuesOf = async ({ name, isLevel }: Metric, split?: DimensionName) => {
      const [[day]] = (await ask('SELECT max(day)::VARCHAR FROM marts.backlog_daily')).rows as [[string]]
      const period = isLevel ? { from: day, to: day } : { from: '2000-01-01', to: '2100-01-01' }
      const [answer] = await answerMetrics(
        context,
        metricsRequest.parse({ metrics: [name], period, split, top: 1_000 }),
      )
      return answer!.series
        .filter(one => (one.split === null) === (split === undefined))
        .map(({ total }) => total!.value)
    }
    const ascending = (values: (number | null)[]) =>
      values.map(value => (value === null ? null : Number(value.toPrecision(9)))).sort((a, b) => Number(a) - Number(b))
    let compared = 0
    for (const { type, targets } of queryPanels(dashboard).filter(({ type }) => type !== 'timeseries')) {
      const { names, rows } = await answerOf(targets![0]!)
      const splits = names.filter(name => Object.values(DIMENSIONS).some(({ title }) => title === name))
      if (splits.length > 1) continue
      const split = Object.entries(DIMENSIONS).find(([, { title }]) => title === splits[0])?.[0] as DimensionName
      for (const metric of METRICS.filter(({ title }) => names.includes(title))) {
        const shown = rows
          .map(row => row[names.indexOf(metric.title)])
          .map(value => (value === null ? null : Number(value)))
        expect([type, metric.name, ascending(shown)]).toEqual([
          type,
          metric.name,
          ascending(await valuesOf(metric, split)),
        ])
        compared += 1
      }
    }
    expect(compared).toBeGreaterThan(30)
  })

  it('is current (`npm run docs`)', () => {
    expect(dashboard).toEqual(conversationsDashboard())
    expect(dashboard.timezone).toBe('utc')
  })
})

describe('the pages', () => {
  const pages = readdirSync(PAGES)
  /** Pages with the SQL of other engines and extensions; tests in `test/bi` run those that can be installed. */
  const OTHERS = ['dbt.md', 'ducklake.md', 'spark.md', 'trino.md', 'warehouses.md']

  it('show the star that the marts declare', () => {
    const relations = (path: string) =>
      [...readFileSync(path, 'utf8').matchAll(/^ {2}(\w+) \|\|--o[{|] (\w+) : "(\w+)"$/gm)].map(
        ([, dimension, fact, key]) => ({
          dimension: dimension!,
          fact: fact!,
          key: key!,
        }),
      )
    const shown = relations(join(PAGES, 'power-bi.md'))
    const facts = new Set(shown.map(({ fact }) => fact))
    const declared = relations(join(PAGES, '..', 'er-diagram.md')).filter(
      ({ dimension, fact }) => dimension.startsWith('dim_') && facts.has(fact),
    )
    const sorted = (all: typeof shown) => all.map(({ dimension, fact, key }) => `${dimension} ${fact} ${key}`).sort()
    expect(facts.size).toBeGreaterThan(5)
    expect(sorted(shown)).toEqual(sorted(declared))
  })

  it.each(pages.filter(name => !OTHERS.includes(name)))('%s has SQL that returns rows', async name => {
    const page = readFileSync(join(PAGES, name), 'utf8')
    const queries = [...page.matchAll(/```sql\n([^`]+)```/g)].flatMap(([, sql]) => sql!.split(/;\s*/).filter(Boolean))
    for (const query of queries) {
      // PostgreSQL fails on a day with costs but without conversations.
      expect(query).not.toMatch(/\/ sum\(/)
      // In PostgreSQL, the schema of the marts has another name.
      const { rows } = await ask(query.replaceAll('convohouse_marts.', 'marts.').replaceAll('convohouse.', 'main.'))
      expect(rows.length, query).toBeGreaterThan(0)
    }
  })
})
