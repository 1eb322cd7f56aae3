// A delta that does not fit into the memory of the target's process becomes a refill.
import { expect, it } from 'vitest'
import { isDeep } from '../tier.ts'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { newTarget, publishTo, SETTINGS } from './published.ts'

const app = temporaryWarehouse()

it.runIf(isDeep)('a snapshot whose process has too little memory for the changes is written from empty', async () => {
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
