// Tests the dashboards and pages for BI tools, on PostgreSQL as the compose profile `bi` sets it up.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { allChosen, type Chosen, expanded, queryPanels, readDashboard } from '../publish/grafana-dashboards.ts'
import { describeWithPostgres } from './postgres-scene.ts'
import { publishedPostgres, READER } from './published-postgres.ts'
import { python } from './python.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const RANGE = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }

const published = publishedPostgres()

interface Answer {
  rows: Record<string, unknown>[]
  types: Record<string, string>
}

/** Returns the rows of a SELECT, and the types of its columns under PostgreSQL's names. */
async function ask(sql: string): Promise<Answer> {
  const found = await published.reader.rows(`SELECT row_to_json(q)::text FROM (${sql.replace(/;\s*$/, '')}) q`)
  const rows = found.map(([row]) => JSON.parse(String(row)) as Record<string, unknown>)
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return { rows, types: {} }
  const typed = names.map(name => `pg_typeof("${name}")::text AS "${name}"`).join(', ')
  const [types] = await published.reader.rows(`SELECT ${typed} FROM (${sql.replace(/;\s*$/, '')}) q LIMIT 1`)
  return { rows, types: Object.fromEntries(names.map((name, at) => [name, String(types![at])])) }
}

const NUMBERS = ['bigint', 'numeric', 'double precision']

describeWithPostgres('the dashboard of conversations, in PostgreSQL', () => {
  const dashboard = readDashboard('conversations')
  let chosen: Chosen

  beforeAll(async () => {
    const values = async (sql: string) => (await ask(sql)).rows.map(row => String(Object.values(row).at(-1)))
    chosen = await allChosen(dashboard, values)
  })

  it.each(queryPanels(dashboard))('panel $title has rows, with types that Grafana draws', async panel => {
    for (const { rawSql, format } of panel.targets!) {
      const { rows, types } = await ask(expanded(rawSql!, chosen, RANGE))
      expect(rows.length).toBeGreaterThan(0)
      const { time, metric, ...values } = types
      if (format === 'time_series') {
        expect(time).toBe('date')
        expect([undefined, 'text']).toContain(metric)
        for (const type of Object.values(values)) expect(NUMBERS).toContain(type)
      }
      if (panel.type === 'stat') {
        expect(rows).toHaveLength(1)
        expect(NUMBERS).toContain(Object.values(types)[0])
        if (panel.title.startsWith('Age')) continue
        const [there] = await published.scene.query(expanded(rawSql!, { ...chosen, marts: ['marts'] }, RANGE))
        expect(Object.values(rows[0]!)).toEqual([expect.closeTo(Number(Object.values(there!)[0]), 6)])
      }
    }
  })
})

describeWithPostgres('the reader', () => {
  it('can read every published table, and change none', async () => {
    const tables = await published.admin.rows(
      `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname LIKE 'convohouse%'`,
    )
    expect(tables.length).toBeGreaterThan(50)
    for (const [table] of tables) await published.reader.rows(`SELECT count(*) FROM ${table}`)
    // This is the role's default, which a client may change.
    expect(await published.reader.rows(`SELECT current_setting('default_transaction_read_only')`)).toEqual([['on']])
    const writing = 'SET TRANSACTION READ WRITE'
    for (const sql of [
      'DELETE FROM convohouse_marts.freshness',
      'CREATE SCHEMA mine',
      'CREATE TABLE public.mine (i int)',
    ])
      await expect(published.reader.execute(`${writing}; ${sql}`), sql).rejects.toThrow('permission denied')
  })

  it('reads tables that a later publication creates', async () => {
    await published.admin.execute('DROP TABLE convohouse_marts.fct_leads')
    await published.scene.command('publish', '--refill')
    expect((await ask('SELECT count(*) AS n FROM convohouse_marts.fct_leads')).rows[0]!.n).toBeGreaterThan(0)
  }, 60_000)
})

describeWithPostgres('the pages', () => {
  it.each(readdirSync(join(ROOT, 'docs/bi')))('%s has SQL that PostgreSQL answers', async name => {
    const blocks = [...read(`docs/bi/${name}`).matchAll(/```sql\n([^`]+)```/g)].map(([, sql]) => sql!)
    const queries = blocks.flatMap(sql => sql.split(/;\s*/).filter(Boolean))
    // Excludes queries of another engine's catalog.
    for (const query of queries.filter(sql => /(?<!\.)\bconvohouse_marts\./.test(sql)))
      expect((await ask(query)).rows.length, query).toBeGreaterThan(0)
  })

  it('of Superset names an address with which its driver finds tables and descriptions', async () => {
    const [address] = /postgresql\+psycopg2:[^`]+/.exec(read('docs/bi/superset.md'))!
    const here = address
      .replace('PASSWORD', READER.password)
      .replace('host:5432/convohouse', `127.0.0.1:${published.server.port}/postgres`)
    const code = `import json, sqlalchemy, sys
engine = sqlalchemy.create_engine(sys.argv[1])
about = sqlalchemy.inspect(engine)
columns = about.get_columns("conversations_daily", "convohouse_marts")
print(json.dumps([[c["name"], str(c["type"]), bool(c["comment"])] for c in columns]))
with engine.connect() as c: print(c.execute(sqlalchemy.text("SELECT sum(conversations)::int FROM convohouse_marts.conversations_daily")).scalar())`
    const [columns, counted] = (await python('notebook', ['-c', code, here])).trim().split('\n')
    expect(JSON.parse(columns!)).toEqual(
      expect.arrayContaining([
        ['day', 'DATE', true],
        ['conversations', 'BIGINT', true],
      ]),
    )
    expect(Number(counted)).toBeGreaterThan(400)
  })
})
