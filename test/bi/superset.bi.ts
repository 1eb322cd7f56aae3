// The page about Superset: a snapshot through DuckDB's driver, in a server that runs as users run it.
import { expect, it } from 'vitest'
import { page } from './pages.ts'
import { publishedScene } from './published-scene.ts'
import { PYTHON } from './python.ts'
import { expectFiguresInSuperset } from './superset-server.ts'

const scene = publishedScene([{ name: 'dashboards', type: 'snapshot' }])

it('Superset connects as the page says, and a dataset with its metric shows the figures of the mart', async () => {
  const text = page('superset.md')
  // The page says with which versions it was tried.
  for (const name of ['apache-superset', 'duckdb-engine'])
    expect(text).toContain(new RegExp(`\\b${name}==([\\d.]+)`).exec(PYTHON.superset.about)![1])
  const address = /duckdb:\/{4}[^`]+/.exec(text)![0].replace('/srv/convohouse', scene.home)
  const [schema] = /dashboards\.marts/.exec(text)!
  const types = await expectFiguresInSuperset(scene, { address, schema, marts: 'marts' })
  expect(types).toMatchObject({ day: ['DATE', true], channel: ['VARCHAR', false], conversations: ['BIGINT', false] })
})
