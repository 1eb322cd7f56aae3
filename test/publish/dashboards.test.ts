// Runs the queries of the pages and dashboards for BI tools on a snapshot that `convohouse publish` has written from a sandbox's workspace.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAIN, openCliScene } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
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

  it('fills every column except those that only events supply', async () => {
    const empty: string[] = []
    for (const panel of queryPanels(dashboard)) {
      const { names, rows } = await answerOf(panel.targets![0]!)
      for (const [at, name] of names.entries())
        if (rows.every(row => row[at] === null)) empty.push(`${panel.title}: ${name}`)
    }
    expect(empty).toEqual(['First answer by a person: seconds'])
  })

  it('shows totals that the facts confirm', async () => {
    const values = async (title: string, column = 0) => {
      const panel = queryPanels(dashboard).find(({ title: other }) => other === title)!
      return (await answerOf(panel.targets![0]!)).rows.map(row => Number(row[column]))
    }
    const total = async (...of: Parameters<typeof values>) => (await values(...of)).reduce((sum, value) => sum + value)
    const truth = await ask(`SELECT count(*), count(*) FILTER (WHERE was_resolved) / count(*),
      count(*) FILTER (WHERE was_reopened) / count(*) FILTER (WHERE was_resolved), sum(tokens_usd),
      (SELECT avg(wait_seconds) FROM marts.fct_handoffs WHERE is_counted), (SELECT avg(csat_score) FROM marts.fct_csat WHERE is_counted),
      (SELECT count(*) FROM marts.fct_handoffs WHERE is_counted), (SELECT count(*) FROM marts.fct_leads WHERE is_counted)
      FROM marts.fct_conversations WHERE is_counted`)
    const [conversations, resolved, reopened, usd, wait, score, handoffs, leads] = truth.rows[0]!.map(Number)
    for (const [shown, expected] of [
      [await total('Conversations'), conversations!],
      [await total('Conversations per day, by channel', 2), conversations!],
      [await total('Agents', 1), conversations!],
      [await total('Resolved'), resolved!],
      [await total('Reopened'), reopened!],
      [await total('Cost of tokens'), usd!],
      [await total('Cost of tokens per day, by agent', 2), usd!],
      [await total('Average wait'), wait!],
      [await total('Satisfaction'), score!],
      [await total('Teams that were asked for', 1), handoffs!],
      [await total('Leads, by stage and currency', 2), leads!],
    ] as const)
      expect(shown).toBeCloseTo(expected, 6)
    const ages = await values('Age of the published data')
    expect(Math.abs(ages[0]!)).toBeLessThan(600)
  })

  it('adds up sums only, and begins with what counts', () => {
    for (const { targets } of queryPanels(dashboard))
      for (const { rawSql } of targets!) {
        expect(rawSql).not.toMatch(/\bavg\(/i)
        expect(rawSql).not.toMatch(/\/ sum\(/)
        if (rawSql!.includes('fct_')) expect(rawSql).toContain('WHERE is_counted AND')
        if (rawSql!.includes('lead_value')) expect(rawSql).toMatch(/GROUP BY 1, 2/)
      }
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
