// The page about Spark, where it reads a lake through JDBC: its statements and its program, run as they are printed there.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { extensionFolder } from './extensions.ts'
import { driverOf } from './jdbc.ts'
import { describeWithPostgres, postgresScene } from './postgres-scene.ts'
import { publishedScene } from './published-scene.ts'
import { PYTHON, python } from './python.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'bi', 'spark.md'), 'utf8')
const SECTION = PAGE.slice(PAGE.indexOf('## A lake'))
const block = (language: string): string => new RegExp(`\`\`\`${language}\\n([^\`]+)\`\`\``).exec(SECTION)![1]!

describeWithPostgres('the page about Spark', () => {
  const postgres = postgresScene()
  const scene = publishedScene(() => {
    const { connection, passwordFile } = postgres.newTarget()
    const { host, port, database, user } = connection
    return [{ name: 'versions', type: 'ducklake', catalog: { host, port, database, user, passwordFile } }]
  })

  /** The lake's address for a reader on this machine. */
  const address = () =>
    `host=127.0.0.1 port=${postgres.server.port} dbname=postgres user=admin password=${postgres.server.password}`

  it('reads a lake through JDBC, all tables in one version, with the types of the marts', async () => {
    // The page says with which versions it was tried, and the driver's is that of its address.
    expect(PAGE).toContain(`PySpark ${/pyspark==([\d.]+)/.exec(PYTHON.spark.about)![1]}`)
    expect(block('python')).toContain(/duckdb_jdbc-([\d.]+\d)/.exec(driverOf('lake'))![1])
    const loads = ['ducklake', 'postgres_scanner'].map(name => `LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    const installs = 'INSTALL ducklake; INSTALL postgres'
    expect(block('sql')).toContain(installs)
    await writeFile(
      join(scene.home, 'published', 'lake.sql'),
      block('sql')
        .replace(installs, loads.join('; '))
        .replace('host=db.example.com dbname=lake user=analyst', address()),
    )
    // The driver's file in place of its download.
    const packages = /\.config\("spark\.jars\.packages", "[^"]+"\)/
    expect(block('python')).toMatch(packages)
    // A zone of the machine that is not UTC.
    const program = `import os
os.environ["TZ"] = "America/New_York"
${block('python').replace(packages, `.config("spark.jars", "${driverOf('lake')}")`)}
import json
first, day = conversations.select(f.min("started_at").cast("string"), f.min("day").cast("string")).first()
print(json.dumps({"sum": sum(row.conversations for row in daily.collect()), "facts": conversations.where("is_counted").count(),
  "all": conversations.count(), "distinct": conversations.select("conversation_id").distinct().count(),
  "partitions": conversations.rdd.getNumPartitions(), "months": len(months), "first": first, "day": day,
  "types": {c: str(conversations.schema[c].dataType) for c in ["day", "started_at", "messages", "tokens_usd", "is_counted"]}}))`
    const file = join(scene.home, 'lake.py')
    await writeFile(file, program)
    const printed = await python('spark', [file], { cwd: scene.home })
    const found = JSON.parse(printed.trim().split('\n').at(-1)!) as Record<string, unknown>
    expect(found.facts).toBeGreaterThan(400)
    expect(found).toMatchObject({ sum: found.facts, all: found.distinct, partitions: found.months })
    const query = `SELECT count(*)::INT AS "all", strftime(min(started_at), '%Y-%m-%d %H:%M:%S') AS first, min(day)::VARCHAR AS day FROM marts.fct_conversations`
    const [expected] = await scene.query(query)
    expect({ all: found.all, first: String(found.first).slice(0, 19), day: found.day }).toEqual(expected)
    expect(found.types).toEqual({
      ...{ day: 'DateType()', started_at: 'TimestampType()', messages: 'LongType()', tokens_usd: 'DoubleType()' },
      is_counted: 'BooleanType()',
    })
  }, 600_000)
})
