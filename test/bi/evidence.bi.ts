// Tests the page about Evidence: its connector reads a snapshot with the options and the query of the page.
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { EVIDENCE } from './evidence.ts'
import { needed } from './lacking.ts'
import { publishedScene } from './published-scene.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'bi', 'evidence.md'), 'utf8')
const [, connection] = /```yaml\n([^`]+)```/.exec(PAGE)!
const [, query] = /```sql\n([^`]+)```/.exec(PAGE)!

interface Result {
  columnTypes: { name: string; evidenceType: string }[]
  rows: () => AsyncIterable<Record<string, unknown>[]>
}

interface Connector {
  getRunner: (options: object, folder: string) => Promise<(sql: string, path: string, rows: number) => Promise<Result>>
}

const scene = publishedScene([{ name: 'dashboards', type: 'snapshot' }])

it('Evidence reads the rows of the page, with days as dates and figures as numbers', async () => {
  const { getRunner } = createRequire(join(needed(EVIDENCE), 'package.json'))('@evidence-dev/duckdb') as Connector
  const { options } = parse(connection!) as { options: { filename: string } }
  // Folder `sources/convohouse` of a project beside `published`, which contains the query.
  const source = join(scene.home, 'sources', 'convohouse')
  await mkdir(source, { recursive: true })
  await writeFile(join(source, 'daily.sql'), query!)
  const run = await getRunner(options, source)
  const { columnTypes, rows } = await run(query!, 'daily.sql', 100)
  expect(Object.fromEntries(columnTypes.map(({ name, evidenceType }) => [name, evidenceType]))).toEqual({
    ...{ day: 'date', channel: 'string', conversations: 'number' },
    ...{ ever_resolved: 'number', csat_score_sum: 'number', csat_answers: 'number' },
  })
  let counted = 0
  for await (const batch of rows()) for (const { conversations } of batch) counted += conversations as number
  const expected = await scene.query('SELECT sum(conversations)::INT AS n FROM marts.conversations_daily')
  expect([{ n: counted }]).toEqual(expected)
  expect(counted).toBeGreaterThan(400)
}, 300_000)
