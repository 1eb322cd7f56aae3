// What the pages about Trino, ClickHouse and Spark say of a target in S3, tried with a server and the keys of a reader.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { AWS_SDK, HADOOP_AWS, hadoopJars } from './hadoop.ts'
import { blocks, page, section, statements } from './pages.ts'
import { LAKE, publishedS3 } from './published-s3.ts'
import { python } from './python.ts'
import { describeWithS3 } from './s3-scene.ts'
import { startTrino } from './trino.ts'

const published = publishedS3()

const here = (text: string): string =>
  text.replaceAll('company-lake/convohouse', LAKE).replaceAll('https://s3.example.com', published.server.endpoint)

interface Channel {
  channel: string
  conversations: number
  csat: number | null
}

const byChannel = () =>
  published.scene.query<Channel>(`SELECT channel, sum(conversations)::INT AS conversations, sum(csat_score_sum) / nullif(sum(csat_answers), 0) AS csat
    FROM marts.conversations_daily GROUP BY channel ORDER BY channel`)

const near = ({ csat, ...row }: Channel) => ({ ...row, csat: csat === null ? null : expect.closeTo(csat, 9) })

describeWithS3('a target in S3', () => {
  it('is read by Trino with the catalog and tables of its page, also after a publication', async () => {
    const text = section('trino.md', 'Parquet files in S3')
    const [catalog] = blocks(text, 'properties')
    const [create, queries] = blocks(section('trino.md', 'Parquet files in a folder'), 'sql')
    const place = 's3://company-lake/convohouse/'
    expect(text).toContain(`external_location = '${place}marts/conversations_daily'`)
    await mkdir(join(published.scene.home, 'trino'))
    const { accessKeyId, secretAccessKey } = published.server.reader
    const settings = here(catalog!).replace('=/srv', `=${published.scene.home}`)
    const trino = await startTrino(
      'hive',
      { convohouse: settings },
      { LAKE_KEY: accessKeyId, LAKE_SECRET: secretAccessKey },
    )
    for (const sql of statements(here(create!.replaceAll('local:///convohouse/lake/versions/VERSION/', place))))
      await trino.ask(sql)
    const [expected] = await published.scene.query<{ days: number; conversations: number; answers: number }>(
      `SELECT (SELECT count(*) FROM (SELECT DISTINCT day, channel FROM marts.conversations_daily))::INT AS days,
        (SELECT sum(conversations) FROM marts.conversations_daily)::INT AS conversations,
        (SELECT count(csat_score) FROM marts.fct_csat WHERE is_counted)::INT AS answers`,
    )
    const [daily, scores] = statements(queries!).map(sql => sql.replace("WHERE month >= '2026-01'", ''))
    const sum = (rows: unknown[][], at: number) => rows.reduce((all, row) => all + Number(row[at]), 0)
    const found = async () => {
      const [days, agents] = [await trino.ask(daily!), await trino.ask(scores!)]
      return { days: days.length, conversations: sum(days, 2), answers: sum(agents, 2) }
    }
    expect(await found()).toEqual(expected)
    expect(expected!.conversations).toBeGreaterThan(400)
    await published.scene.command('publish', '--refill')
    for (const sql of statements(create!).filter(one => one.startsWith('CALL'))) await trino.ask(sql)
    expect(await found()).toEqual(expected)
    await expect(
      trino.ask(`INSERT INTO convohouse.marts.fct_csat (agent_title, month) VALUES ('x', '2026-11')`),
    ).rejects.toThrow('Cannot write to non-managed')
  })

  it('is loaded into ClickHouse by the statements of its page', async () => {
    const text = section('warehouses.md', 'ClickHouse')
    const [, query, load] = blocks(text, 'sql')
    const { accessKeyId, secretAccessKey } = published.server.reader
    const sql = here(
      load!.replaceAll('https://company-lake.s3.eu-central-1.amazonaws.com', `${published.server.endpoint}/lake`),
    )
      .replaceAll("'KEY'", `'${accessKeyId}'`)
      .replaceAll("'SECRET'", `'${secretAccessKey}'`)
    const program = `import json, sys
from chdb import session
with session.Session() as s:
    for load in range(2):
        for statement in json.loads(sys.argv[1]): s.query(statement)
    print(json.dumps([json.loads(line) for line in str(s.query(sys.argv[2], "JSONEachRow")).splitlines()]))
    print(str(s.query("SELECT countIf(is_counted) AS facts, toInt64(sum(messages)) AS messages, uniqExact(month) AS months FROM convohouse.fct_conversations", "JSONEachRow")))
`
    const file = join(published.scene.home, 'clickhouse.py')
    await writeFile(file, program)
    const printed = await python('clickhouse', [file, JSON.stringify(statements(sql)), query!.replace(';', '')])
    const [rows, facts] = printed.trim().split('\n').slice(-2)
    const found = (JSON.parse(rows!) as Channel[]).map(row => ({ ...row, conversations: Number(row.conversations) }))
    expect(found).toEqual((await byChannel()).map(near))
    const [expected] = await published.scene.query<{ facts: number; messages: number }>(
      `SELECT count(*) FILTER (is_counted)::INT AS facts, sum(messages)::INT AS messages,
        count(DISTINCT coalesce(strftime(day, '%Y-%m'), ''))::INT AS months FROM marts.fct_conversations`,
    )
    const numbers = Object.entries(JSON.parse(facts!) as object).map(([name, value]) => [name, Number(value)])
    expect(Object.fromEntries(numbers)).toEqual(expected)
  })

  it('is read by Spark as its page says, by the manifest and by name', async () => {
    const text = section('spark.md', 'Parquet files in S3')
    const [code] = blocks(text, 'python')
    // The files in place of their download.
    const packages = `"spark.jars.packages", "${HADOOP_AWS}"`
    expect(code).toContain(packages)
    expect(page('spark.md')).toContain(AWS_SDK)
    const { accessKeyId, secretAccessKey } = published.server.reader
    const program = `import os
os.environ.update(TZ="America/New_York", AWS_ACCESS_KEY_ID="${accessKeyId}", AWS_SECRET_ACCESS_KEY="${secretAccessKey}")
${here(code!).replace(packages, `"spark.jars", "${await hadoopJars()}"`)}
conversations = mart("fct_conversations")
print(json.dumps({"hadoop": spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion(), "rows": conversations.count(),
  "facts": conversations.where("is_counted").count(), "agents": agents.count(), "first": str(conversations.agg(f.min("day")).first()[0]),
  "sum": mart("conversations_daily").agg(f.sum("conversations")).first()[0], "recent": daily.agg(f.sum("conversations")).first()[0],
  "named": spark.read.parquet(f"{lake}/marts/fct_conversations").count(), "month": str(conversations.schema["month"].dataType)}))`
    const file = join(published.scene.home, 's3.py')
    await writeFile(file, program)
    const found = JSON.parse((await python('spark', [file])).trim().split('\n').at(-1)!) as Record<string, unknown>
    const [expected] = await published.scene.query<Record<string, unknown>>(
      `SELECT count(*)::INT AS rows, count(*) FILTER (is_counted)::INT AS facts, (SELECT count(*) FROM marts.dim_agents)::INT AS agents,
        min(day)::VARCHAR AS first, (SELECT sum(conversations) FROM marts.conversations_daily)::INT AS sum,
        (SELECT sum(conversations) FROM marts.conversations_daily WHERE day >= '2026-01-01')::INT AS recent FROM marts.fct_conversations`,
    )
    const [, , version] = HADOOP_AWS.split(':')
    expect(found).toEqual({ ...expected, hadoop: version, named: expected!.rows, month: 'StringType()' })
    expect(found.facts).toBeGreaterThan(400)
  })
})
