// The example of a dbt project, built over a snapshot with dbt-duckdb: `npm run test:bi`.
import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { needed } from './lacking.ts'
import { type PublishedScene, publishedScene } from './published-scene.ts'
import { PYTHON, python } from './python.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'dbt')

let scene: PublishedScene
let project: string

beforeAll(async () => {
  scene = await publishedScene([{ name: 'dashboards', type: 'snapshot' }])
  project = join(scene.home, 'dbt')
  await cp(EXAMPLE, project, { recursive: true })
}, 300_000)

afterAll(() => scene.close())

const snapshot = () => join(scene.home, 'published', 'dashboards.duckdb')

async function dbt(...words: string[]): Promise<string> {
  const env = { ...process.env, CONVOHOUSE_SNAPSHOT: snapshot(), DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' }
  const options = { cwd: project, env, maxBuffer: 100_000_000 }
  const all = [...words, '--profiles-dir', '.', '--no-use-colors']
  return (await promisify(execFile)(join(needed(PYTHON.dbt), 'bin', 'dbt'), all, options)).stdout
}

interface Result {
  status: string
  unique_id: string
}

it('dbt builds the example: its models have the figures of the marts, and every test of the sources passes', async () => {
  const printed = await dbt('build')
  expect(printed).toMatch(/ERROR=0 /)
  expect(printed).not.toMatch(/deprecat/i)
  const { results } = JSON.parse(await readFile(join(project, 'target', 'run_results.json'), 'utf8')) as {
    results: Result[]
  }
  const tests = results.filter(({ unique_id }) => unique_id.startsWith('test.'))
  expect(tests.length).toBeGreaterThan(200)
  expect(new Set(tests.map(({ status }) => status))).toEqual(new Set(['pass']))
  const code = `import duckdb, json, sys
with duckdb.connect(sys.argv[1], read_only=True) as c:
    c.execute(f"ATTACH '{sys.argv[2]}' AS convohouse (READ_ONLY)")
    print(json.dumps(c.execute("SELECT (SELECT sum(conversations)::INT FROM agent_weeks), (SELECT sum(conversations)::INT FROM convohouse.marts.conversations_daily), (SELECT sum(handoffs)::INT FROM team_handoffs), (SELECT count(*)::INT FROM convohouse.marts.fct_handoffs WHERE is_counted)").fetchone()))`
  const found = await python('dbt', ['-c', code, join(project, 'convohouse_example.duckdb'), snapshot()])
  const [weeks, days, handoffs, facts] = JSON.parse(found) as number[]
  expect(weeks).toBeGreaterThan(400)
  expect([weeks, handoffs]).toEqual([days, facts])
}, 900_000)

it('dbt knows how fresh the snapshot is, and which tables a dashboard reads', async () => {
  expect(await dbt('source', 'freshness')).toMatch(/PASS freshness of convohouse\._publication/)
  const listed = await dbt('ls', '--resource-type', 'source', '--select', '+exposure:convohouse_conversations')
  expect(listed).toContain('source:convohouse_example.convohouse_marts.conversations_daily')
}, 900_000)
