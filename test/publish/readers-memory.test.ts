// A publication that runs out of memory goes on with one connection.
import { expect, it } from 'vitest'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { newTarget, publishTo, SETTINGS } from './published.ts'
import { newParquet } from './published-parquet.ts'

const app = temporaryWarehouse()

it('a package for which two connections have too little memory is written by one', async () => {
  const { writer } = app.warehouse
  const place = app.workspace()
  const records = Array.from({ length: 10_000 }, (_, n) => ({ ID: String(n) }))
  await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS }))
  await writer.run(`UPDATE conversations SET summary = repeat('x', 20000) WHERE conversation_id NOT LIKE '%-%'`)
  await writer.run('CHECKPOINT')
  // Two slices of 100 MB each do not fit, one does.
  await writer.run(`SET memory_limit = '158MB'`)
  const target = newParquet(app.home)
  await publishTo(app, target, { verify: true })
  await writer.run(`SET memory_limit = '1GB'`)
  const attempts = await writer.rows(
    `SELECT error_code, error LIKE '%Out of Memory%' AS is_memory FROM _publications WHERE target = $target ORDER BY started_at`,
    { target: target.name },
  )
  // Were the slices not written at the same moment, the first attempt would do.
  expect(attempts.at(-1)).toEqual({ error_code: null, is_memory: null })
  expect(attempts.slice(0, -1)).toEqual(
    attempts.length > 1 ? [{ error_code: 'PUBLICATION_FAILED', is_memory: true }] : [],
  )
})

it('a snapshot whose process has too little memory for the changes is written from empty', async () => {
  const place = app.workspace()
  const target = newTarget(app.home)
  const settings = { ...SETTINGS, memoryLimit: '64MB' }
  const load = async (minutes: number, summary: string) => {
    const records = Array.from({ length: 3_000 }, (_, n) => ({ ID: String(n), summary: `${n} ${summary}` }))
    const sentAtMs = SENT_AT_MS + minutes * 60_000
    await place.load(await landConversations(place.landing, { records, sentAtMs }))
  }
  await load(0, '')
  expect(await publishTo(app, target, { settings })).toMatchObject({ kind: 'refill', reason: 'no watermark' })
  await load(1, 'x'.repeat(30_000))
  expect(await publishTo(app, target, { settings })).toMatchObject({ kind: 'refill', reason: 'memory' })
  expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'current' })
})
