// Canaries in every column of personal data: none reaches a target that hashes and drops, and each reaches one that keeps.
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { hashKey } from '../../src/publish/pii.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { CANARY, personalColumns, plantCanaries } from './canaries.ts'
import { bytesContain, DEFAULT, newTarget, publishTo, rowsIn, valuesIn } from './published.ts'
import { newParquet, rowsOf, valuesContain } from './published-parquet.ts'

const app = temporaryWarehouse()

it('is hashed or dropped in every table before a package is written, and all of it is kept where a target keeps it', async () => {
  await plantCanaries(app.warehouse.writer)
  const [careful, keeping] = [newTarget(app.home, { pii: DEFAULT }), newTarget(app.home)]
  await publishTo(app, careful)
  await publishTo(app, keeping)
  const names = await personalColumns()
  expect(names.length).toBeGreaterThan(100)
  expect(await valuesIn(careful.path, CANARY)).toEqual([])
  expect(await bytesContain(careful.path, CANARY)).toBe(false)
  expect((await valuesIn(keeping.path, CANARY)).sort()).toEqual(names.sort())
  expect(await bytesContain(keeping.path, CANARY)).toBe(true)
  expect(
    await rowsIn(careful.path, 'SELECT count(*)::INT, count(user_email)::INT, count(summary)::INT FROM conversations'),
  ).toEqual([[1, 1, 0]])
})

it('is hashed or dropped in Parquet files too, and kept where a target keeps it', async () => {
  const careful = newParquet(app.home, { pii: DEFAULT, partitionBy: ['agent', 'month'] })
  const keeping = newParquet(app.home)
  await publishTo(app, careful)
  await publishTo(app, keeping)
  expect(await valuesContain(careful.path, CANARY)).toBe(false)
  expect(await valuesContain(keeping.path, CANARY)).toBe(true)
  expect(await rowsOf(careful, 'conversations', 'count(*)::INT, count(user_email)::INT, count(summary)::INT')).toEqual([
    [1, 1, 0],
  ])
})

it('is hashed so that equal addresses and telephone numbers join, and nobody without the key can test a guess', async () => {
  const { writer } = app.warehouse
  await writer.run(`INSERT INTO leads (workspace_id, event_id, lead_email, lead_phone) VALUES
    ('w', '1', ' Eve@Example.com', '+49 (30) 123-456'), ('w', '2', 'eve@example.COM ', '004930123456'), ('w', '3', NULL, '030 123457')`)
  const target = newTarget(app.home, { pii: DEFAULT })
  await publishTo(app, target)
  const hash = createHmac('sha256', await hashKey(app.home))
  const digits = createHmac('sha256', await hashKey(app.home))
  const [one, two, three] = await rowsIn(
    target.path,
    `SELECT lead_email, lead_phone FROM leads WHERE workspace_id = 'w' ORDER BY event_id`,
  )
  expect(one).toEqual([hash.update('eve@example.com').digest('hex'), digits.update('4930123456').digest('hex')])
  expect(two).toEqual(one)
  expect(three![0]).toBeNull()
  expect(three![1]).not.toBe(one![1])
})
