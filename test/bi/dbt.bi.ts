// Tests the example of a dbt project, built over a snapshot with dbt-duckdb: `npm run test:bi`.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dbtProject } from './dbt.ts'
import { publishedScene } from './published-scene.ts'
import { python } from './python.ts'

const scene = publishedScene([{ name: 'dashboards', type: 'snapshot' }])

it('dbt builds the example over a snapshot: its models have the figures of the marts, and every test of the sources passes', async () => {
  const snapshot = join(scene.home, 'published', 'dashboards.duckdb')
  const { dbt, build, folder } = await dbtProject(scene.home, { CONVOHOUSE_SNAPSHOT: snapshot })
  await build()
  const code = `import duckdb, json, sys
with duckdb.connect(sys.argv[1], read_only=True) as c:
    c.execute(f"ATTACH '{sys.argv[2]}' AS convohouse (READ_ONLY)")
    print(json.dumps(c.execute("SELECT (SELECT sum(conversations)::INT FROM agent_weeks), (SELECT sum(conversations)::INT FROM convohouse.marts.conversations_daily), (SELECT sum(handoffs)::INT FROM team_handoffs), (SELECT count(*)::INT FROM convohouse.marts.fct_handoffs WHERE is_counted)").fetchone()))`
  const found = await python('dbt', ['-c', code, join(folder, 'convohouse_example.duckdb'), snapshot])
  const [weeks, days, handoffs, facts] = JSON.parse(found) as number[]
  expect(weeks).toBeGreaterThan(400)
  expect([weeks, handoffs]).toEqual([days, facts])
  expect(await dbt('source', 'freshness')).toMatch(/PASS freshness of convohouse\._publication/)
}, 900_000)
