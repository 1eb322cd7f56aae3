// Tests the page about ClickHouse, Snowflake and BigQuery. ClickHouse's engine runs its SQL over a published folder;
// the SQL of the others is not run, because their servers cannot be installed.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { publishedScene } from './published-scene.ts'
import { python } from './python.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'bi', 'warehouses.md'), 'utf8')

const scene = publishedScene([
  { name: 'lake', type: 'parquet' },
  { name: 'dashboards', type: 'snapshot' },
])

it('ClickHouse loads published files, twice with the same result, and reads the figures of the marts', async () => {
  const section = PAGE.slice(PAGE.indexOf('## ClickHouse'), PAGE.indexOf('## Snowflake'))
  const [load, query] = [...section.matchAll(/```sql\n([^`]+)```/g)].map(([, sql]) =>
    sql!.replaceAll('/srv/convohouse/lake', join(scene.home, 'published', 'lake')),
  )
  const program = `import json, sys
from chdb import session
with session.Session() as s:
    for load in range(2):
        for statement in json.loads(sys.argv[1]):
            if statement.strip(): s.query(statement)
    rows = [json.loads(line) for line in str(s.query(sys.argv[2], "JSONEachRow")).splitlines()]
    types = dict(json.loads(line) for line in str(s.query("SELECT name, type FROM system.columns WHERE database = 'convohouse' AND table = 'fct_conversations'", "JSONCompactEachRow")).splitlines())
    facts = json.loads(str(s.query("SELECT countIf(is_counted), sum(messages), uniqExact(conversation_id) FROM convohouse.fct_conversations", "JSONCompactEachRow")))
    print(json.dumps({"rows": rows, "types": types, "facts": [int(one) for one in facts]}))
`
  const file = join(scene.home, 'clickhouse.py')
  await writeFile(file, program)
  const printed = await python('clickhouse', [file, JSON.stringify(load!.split(';')), query!.replace(';', '')])
  const { rows, types, facts } = JSON.parse(printed.trim().split('\n').at(-1)!) as {
    rows: { channel: string; conversations: number | string; csat: number | null }[]
    types: Record<string, string>
    facts: number[]
  }
  const code = `import duckdb, json, sys
with duckdb.connect(sys.argv[1], read_only=True) as c:
    print(json.dumps({"rows": c.execute("SELECT channel, sum(conversations)::INT, round(sum(csat_score_sum) / nullif(sum(csat_answers), 0), 6) FROM marts.conversations_daily GROUP BY channel ORDER BY channel").fetchall(),
      "facts": c.execute("SELECT count(*) FILTER (is_counted), sum(messages)::INT, count(DISTINCT conversation_id) FROM marts.fct_conversations").fetchone()}))`
  const expected = JSON.parse(
    await python('notebook', ['-c', code, join(scene.home, 'published', 'dashboards.duckdb')]),
  ) as { rows: unknown[][]; facts: number[] }
  const found = rows.map(({ channel, conversations, csat }) => [
    channel,
    Number(conversations),
    csat === null ? null : Math.round(csat * 1e6) / 1e6,
  ])
  expect(found).toEqual(expected.rows)
  expect(facts).toEqual(expected.facts)
  expect(facts[0]).toBeGreaterThan(400)
  expect(types).toMatchObject({
    started_at: "Nullable(DateTime64(6, 'UTC'))",
    day: 'Nullable(Date32)',
    messages: 'Nullable(Int64)',
    is_counted: 'Nullable(Bool)',
  })
}, 600_000)
