// The page about Trino: its catalog and SQL, asked of a server over a published folder.
import { mkdir, readdir, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { blocks, page, section, statements } from './pages.ts'
import { publishedScene } from './published-scene.ts'
import { python } from './python.ts'
import { startTrino, VERSION } from './trino.ts'

const scene = publishedScene([
  { name: 'lake', type: 'parquet' },
  { name: 'dashboards', type: 'snapshot' },
])

it('Trino reads the tables of the page, and the next version when they are created again', async () => {
  expect(page('trino.md')).toContain(`Trino ${VERSION} `)
  const text = section('trino.md', 'Parquet files in a folder')
  const [catalog] = blocks(text, 'properties')
  const [create, queries] = blocks(text, 'sql')
  const published = join(scene.home, 'published')
  // The page's `/srv`, with the target at `convohouse/lake`: the data folder, with the target at `published/lake`.
  await mkdir(join(scene.home, 'trino'))
  const trino = await startTrino({ convohouse: catalog!.replace('=/srv', `=${scene.home}`) })
  const createTables = async () => {
    const version = basename(await realpath(join(published, 'lake', 'current')))
    const sql = create!.replaceAll('/convohouse/lake/', '/published/lake/').replaceAll('VERSION', version)
    for (const statement of statements(sql)) await trino.ask(statement)
    return version
  }
  const first = await createTables()
  const [daily, scores] = await Promise.all(statements(queries!).map(sql => trino.ask(sql)))
  const code = `import duckdb, json, sys
with duckdb.connect(sys.argv[1], read_only=True) as c:
    print(json.dumps([c.execute(sql).fetchall() for sql in json.loads(sys.argv[2])], default=str))`
  const asked = statements(queries!).map(sql =>
    sql
      .replaceAll('convohouse.', '')
      .replaceAll('month', "strftime(day, '%Y-%m')")
      .replace('sum(conversations) AS', 'sum(conversations)::INT AS'),
  )
  const printed = await python('notebook', ['-c', code, join(published, 'dashboards.duckdb'), JSON.stringify(asked)])
  const [expectedDaily, expectedScores] = JSON.parse(printed) as unknown[][][]
  expect(daily).toEqual(expectedDaily)
  expect(daily!.reduce((sum, row) => sum + Number(row[2]), 0)).toBeGreaterThan(400)
  const rounded = (rows: unknown[][]) =>
    rows.map(([agent, score, answers, latest]) => [agent, Number(score).toFixed(6), answers, Date.parse(`${latest}Z`)])
  expect(rounded(scores!)).toEqual(rounded(expectedScores!))
  expect(scores!.length).toBeGreaterThan(0)

  await scene.command('publish', '--refill')
  expect(await createTables()).not.toBe(first)
  expect(await trino.ask(statements(queries!)[0]!)).toEqual(expectedDaily)
  await trino.ask('DROP TABLE convohouse.marts.fct_csat')
  expect(await readdir(join(published, 'lake', 'current', 'marts', 'fct_csat'))).not.toEqual([])
}, 300_000)
