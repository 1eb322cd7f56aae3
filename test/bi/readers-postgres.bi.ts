// What the pages about Trino, Superset, dbt and Evidence say of a target in PostgreSQL, with the roles of the page about Grafana.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { dbtProject } from './dbt.ts'
import { EVIDENCE } from './evidence.ts'
import { needed } from './lacking.ts'
import { blocks, page, section, statements } from './pages.ts'
import { describeWithPostgres } from './postgres-scene.ts'
import { publishedPostgres, READER } from './published-postgres.ts'
import { PYTHON } from './python.ts'
import { expectFiguresInSuperset } from './superset-server.ts'
import { startTrino, VERSIONS } from './trino.ts'

const published = publishedPostgres()

const database = () => `127.0.0.1:${published.server.port}/postgres`

describeWithPostgres('a target in PostgreSQL', () => {
  it('is read by Trino with the catalog of its page, and each query sees the newest publication', async () => {
    const text = section('trino.md', 'PostgreSQL')
    expect(page('trino.md')).toContain(`Trino ${VERSIONS.postgresql} `)
    const [catalog] = blocks(text, 'properties')
    const [sql] = statements(blocks(text, 'sql')[0]!)
    const settings = catalog!.replace('host:5432/convohouse', database())
    const trino = await startTrino('postgresql', { published: settings }, { READER_PASSWORD: READER.password })
    const found = (await trino.ask(sql!)) as [string, number, number | null][]
    const expected = await published.scene.query<{ channel: string; n: number; csat: number | null }>(
      `SELECT channel, sum(conversations)::INT AS n, sum(csat_score_sum) / nullif(sum(csat_answers), 0) AS csat
       FROM marts.conversations_daily GROUP BY channel ORDER BY channel`,
    )
    const near = (value: number | null) => (value === null ? null : expect.closeTo(value, 9))
    expect(found).toEqual(expected.map(({ channel, n, csat }) => [channel, n, near(csat)]))
    expect(expected.reduce((sum, { n }) => sum + n, 0)).toBeGreaterThan(400)

    const typesOf = async (table: string) =>
      Object.fromEntries((await trino.ask(`SHOW COLUMNS FROM published.${table}`)).map(([name, type]) => [name, type]))
    expect(await typesOf('convohouse_marts.fct_csat')).toMatchObject({
      ...{ day: 'date', submitted_at: 'timestamp(6) with time zone', csat_score: 'double', is_counted: 'boolean' },
    })
    expect(await typesOf('convohouse.conversations')).toMatchObject({
      extra: 'json',
      ts: 'timestamp(6) with time zone',
    })
    expect(await typesOf('convohouse._publication')).not.toHaveProperty('held')
    await trino.ask(`SELECT json_extract_scalar(extra, '$.name') FROM published.convohouse.conversations`)

    const latest = async () => (await trino.ask('SELECT as_of FROM published.convohouse._publication'))[0]![0]
    const first = await latest()
    await published.scene.command('publish', '--refill')
    expect(await latest()).not.toBe(first)
    await expect(trino.ask('DELETE FROM published.convohouse_marts.fct_csat')).rejects.toThrow(/permission|read-only/)
  })

  it('is connected to Superset as its page says, and a dataset with its metric shows the figures of the mart', async () => {
    const address = /postgresql\+psycopg2:[^`]+/
      .exec(page('superset.md'))![0]
      .replace('PASSWORD', READER.password)
      .replace('host:5432/convohouse', database())
    const types = await expectFiguresInSuperset(published.scene, { address, schema: 'convohouse_marts' })
    expect(types).toMatchObject({ day: ['DATE', true], channel: ['TEXT', false], conversations: ['BIGINT', false] })
  })

  it('is a source of the example for dbt, whose models have the figures of the marts', async () => {
    const text = section('dbt.md', 'Example')
    const commands = blocks(text, 'sh').find(block => block.includes('dbt-postgres'))!
    for (const [pinned] of commands.matchAll(/\bdbt-\w+==[\d.]+/g)) expect(PYTHON.dbt.about).toContain(pinned)
    const [, vars] = /--vars '([^']+)'/.exec(commands)!
    const [setup] = blocks(text, 'sql')
    for (const sql of statements(setup!.replaceAll('…', 'analyst'))) await published.admin.execute(sql)
    const { dbt, build } = await dbtProject(published.scene.home, {
      ...{ PGHOST: '127.0.0.1', PGPORT: String(published.server.port), PGDATABASE: 'postgres' },
      ...{ PGUSER: 'analyst', PGPASSWORD: 'analyst' },
    })
    const words = [
      '--target',
      'postgres',
      '--vars',
      vars!.replace('convohouse_database: convohouse', 'convohouse_database: postgres'),
    ]
    await build(...words)
    const [sums] = await published.admin.rows(
      `SELECT (SELECT sum(conversations)::int FROM analytics.agent_weeks) AS weeks,
        (SELECT sum(conversations)::int FROM convohouse_marts.conversations_daily) AS days,
        (SELECT sum(handoffs)::int FROM analytics.team_handoffs) AS handoffs,
        (SELECT count(*)::int FROM convohouse_marts.fct_handoffs WHERE is_counted) AS facts`,
    )
    const [weeks, days, handoffs, facts] = sums as number[]
    expect(weeks).toBeGreaterThan(400)
    expect([weeks, handoffs]).toEqual([days, facts])

    // By the time of the publication, whatever the zone of the server is.
    expect(await dbt('source', 'freshness', ...words)).toMatch(/PASS freshness of convohouse\._publication/)
    const { results } = JSON.parse(await readFile(join(published.scene.home, 'dbt', 'target', 'sources.json'), 'utf8'))
    expect(results[0].max_loaded_at_time_ago_in_s).toBeGreaterThan(0)
    expect(results[0].max_loaded_at_time_ago_in_s).toBeLessThan(3_600)
  }, 900_000)

  it('gives Evidence the rows of its page, with days as dates and figures as numbers', async () => {
    const text = section('evidence.md', 'PostgreSQL')
    const { options } = parse(blocks(text, 'yaml')[0]!) as { options: object }
    const [query] = blocks(text, 'sql')
    const program = `const { getRunner } = require('@evidence-dev/postgres')
const [options, query] = process.argv.slice(1).map(word => JSON.parse(word))
getRunner(options).then(async run => {
  const { columnTypes, rows } = await run(query, 'daily.sql', 100)
  const all = []
  for await (const batch of rows()) all.push(...batch)
  console.log(JSON.stringify({ columnTypes, rows: all }))
})`
    const place = { host: '127.0.0.1', port: published.server.port, database: 'postgres', ssl: false }
    const words = [{ ...options, ...place, ...READER }, query].map(word => JSON.stringify(word))
    const readIn = async (zone: string) => {
      const env = { PATH: process.env.PATH, TZ: zone }
      const settings = { cwd: needed(EVIDENCE), env, maxBuffer: 100_000_000 }
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, ...words], settings)
      return JSON.parse(stdout) as {
        columnTypes: { name: string; evidenceType: string }[]
        rows: { day: string; conversations: number }[]
      }
    }
    const { columnTypes, rows } = await readIn('UTC')
    expect(Object.fromEntries(columnTypes.map(({ name, evidenceType }) => [name, evidenceType]))).toEqual({
      ...{ day: 'date', channel: 'string', conversations: 'number' },
      ...{ ever_resolved: 'number', csat_score_sum: 'number', csat_answers: 'number' },
    })
    const [expected] = await published.scene.query<{ n: number; first: string }>(
      `SELECT sum(conversations)::INT AS n, strftime(min(day), '%Y-%m-%dT00:00:00.000Z') AS first FROM marts.conversations_daily`,
    )
    expect(rows.reduce((sum, { conversations }) => sum + conversations, 0)).toBe(expected!.n)
    const firstOf = (found: typeof rows) => found.map(({ day }) => day).sort()[0]
    expect(firstOf(rows)).toBe(expected!.first)
    expect(expected!.n).toBeGreaterThan(400)
    // Why the page says to run it in UTC.
    expect(text).toContain('TZ=UTC ')
    expect(firstOf((await readIn('Asia/Tokyo')).rows)! < expected!.first).toBe(true)
  })
})
