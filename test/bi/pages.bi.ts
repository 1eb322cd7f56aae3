// Runs the Python of the pages for notebooks as printed there, over published targets, and opens a snapshot with several versions of DuckDB.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { publishedScene } from './published-scene.ts'
import { DUCKDB, type PythonEnvironment, python } from './python.ts'

const PAGES = join(import.meta.dirname, '..', '..', 'docs', 'bi')

const scene = publishedScene([
  { name: 'dashboards', type: 'snapshot' },
  { name: 'lake', type: 'parquet' },
])

/** Runs all Python of a page (except for S3 or a lake), then `more`, as one program in the folder that contains `published`. */
async function runPage(name: string, environment: PythonEnvironment, more: string): Promise<unknown> {
  const [page] = readFileSync(join(PAGES, name), 'utf8').split(/\n## (?:Parquet files in S3|A lake)\n/)
  const blocks = [...page!.matchAll(/```python\n([^`]+)```/g)].map(([, code]) => code)
  expect(blocks.length).toBeGreaterThan(0)
  const program = join(scene.home, `${name}.py`)
  await writeFile(program, [...blocks, more].join('\n'))
  const printed = await python(environment, [program], { cwd: scene.home })
  return JSON.parse(printed.trim().split('\n').at(-1)!)
}

/** Queries the snapshot with a version of DuckDB. */
async function inSnapshot<T>(environment: PythonEnvironment, sql: string): Promise<T> {
  const code = `import duckdb, json, sys
with duckdb.connect(sys.argv[1], read_only=True) as c: print(json.dumps(c.execute(sys.argv[2]).fetchall(), default=str))`
  const path = join(scene.home, 'published', 'dashboards.duckdb')
  return JSON.parse(await python(environment, ['-c', code, path, sql])) as T
}

it.each(DUCKDB)(
  'duckdb %s of Python opens a snapshot, and sees its columns, comments and types',
  async (_, environment) => {
    const [[counted, usd, types]] = await inSnapshot<[[number, number, string]]>(
      environment,
      `SELECT count(*), sum(tokens_usd), (SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_name) FROM duckdb_columns()
      WHERE table_name = 'fct_csat' AND column_name IN ('day', 'submitted_at', 'csat_score', 'has_comment')) FROM marts.fct_conversations WHERE is_counted`,
    )
    expect(counted).toBeGreaterThan(400)
    expect(usd).toBeGreaterThan(0)
    expect(types).toBe('csat_score DOUBLE, day DATE, has_comment BOOLEAN, submitted_at TIMESTAMP WITH TIME ZONE')
    const [[tables, described]] = await inSnapshot<[[number, number]]>(
      environment,
      `SELECT count(*), count(comment) FROM duckdb_tables() WHERE table_name NOT LIKE '\\_publication' ESCAPE '\\'`,
    )
    expect(tables).toBeGreaterThan(50)
    expect(described).toBe(tables)
  },
  600_000,
)

it('the page about pandas and Polars is right', async () => {
  const more = `import json
print(json.dumps({"conversations": [int(daily["conversations"].sum()), len(conversations)], "as_of": str(as_of),
  "handoffs": int(waits["handoffs"].sum()), "months": waits["month"].to_list(), "counted": str(conversations["messages"].dtype)}))`
  const found = (await runPage('python.md', 'notebook', more)) as {
    conversations: number[]
    handoffs: number
    months: string[]
    counted: string
  }
  expect(new Set(found.conversations).size).toBe(1)
  expect(found.conversations[0]).toBeGreaterThan(400)
  expect(found.handoffs).toBeGreaterThan(30)
  for (const month of found.months) expect(month).toMatch(/^20\d\d-\d\d$/)
  expect(found.counted).toBe('Int64')
}, 600_000)

it('the address of the page about Superset opens a snapshot read-only', async () => {
  const [address] = /duckdb:\/{4}[^`]+/.exec(readFileSync(join(PAGES, 'superset.md'), 'utf8'))!
  const code = `import sqlalchemy, sys
engine = sqlalchemy.create_engine(sys.argv[1])
with engine.connect() as c: print(c.execute(sqlalchemy.text("SELECT sum(conversations)::INT FROM marts.conversations_daily")).scalar())
print(any(name.endswith("marts") for name in sqlalchemy.inspect(engine).get_schema_names()))
try:
    with engine.connect() as c: c.execute(sqlalchemy.text("CREATE TABLE mine (i int)"))
except Exception as refused: print("read-only" in str(refused))`
  const here = address.replace('/srv/convohouse', scene.home)
  const [counted, ...rest] = (await python('notebook', ['-c', code, here])).trim().split('\n')
  expect(Number(counted)).toBeGreaterThan(400)
  expect(rest).toEqual(['True', 'True'])
}, 600_000)

it('the page about Spark is right', async () => {
  const more = `import json
conversations = mart("fct_conversations").where("is_counted")
print(json.dumps({"days": daily.count(), "sum": daily.agg(f.sum("conversations")).first()[0], "facts": conversations.count(),
  "answers": scores.agg(f.sum("answers")).first()[0], "surveys": conversations.where("csat_score IS NOT NULL").count(),
  "types": {c: str(conversations.schema[c].dataType) for c in ["day", "started_at", "messages", "month"]},
  "lastMonth": str(conversations.agg(f.max("month")).first()[0])}))`
  const found = (await runPage('spark.md', 'spark', more)) as Record<string, unknown>
  expect(found.facts).toBeGreaterThan(400)
  expect(found).toMatchObject({ sum: found.facts, answers: found.surveys })
  expect(found.types).toEqual({
    day: 'DateType()',
    started_at: 'TimestampType()',
    messages: 'LongType()',
    month: 'StringType()',
  })
  expect(found.lastMonth).toMatch(/^20\d\d-\d\d$/)
}, 600_000)
