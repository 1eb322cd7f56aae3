// The connections that write a package.
import { expect, it } from 'vitest'
import { reading } from '../../src/publish/readers.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'

const app = temporaryWarehouse()

it('connections of one package see the same state, although transactions commit before, between and after their first reads', async () => {
  const { warehouse } = app
  const { writer } = warehouse
  await writer.run('CREATE TABLE counted AS SELECT 0 AS n')
  const stop = new AbortController()
  const counting = (async () => {
    while (!stop.signal.aborted) await writer.transaction(() => writer.run('UPDATE counted SET n = n + 1'))
  })()
  const seen = new Set<number>()
  for (let round = 0; round < 10; round++)
    await reading({ warehouse, signal: new AbortController().signal, key: null, count: 2 }, async readers => {
      const counts: number[] = []
      for (const reader of readers) {
        await writer.transaction(() => writer.run('UPDATE counted SET n = n + 1'))
        counts.push(((await reader.rows('SELECT n FROM counted'))[0] as { n: number }).n)
      }
      expect(counts).toEqual([counts[0], counts[0]])
      seen.add(counts[0]!)
    })
  stop.abort()
  await counting
  expect(seen.size).toBe(10)
})
