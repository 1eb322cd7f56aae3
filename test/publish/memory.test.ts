// A load that runs out of memory while a publication runs waits for its end, and then succeeds.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import type { LoadablePage } from '../../src/warehouse/load/load-input.ts'
import { until } from '../until.ts'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { ENTRY, newTarget, publishTo } from './published.ts'

const app = temporaryWarehouse()

/** A load of the large page needs more. */
const TOO_LITTLE = '40MB'

/** The target's process, which learns that the package is complete only once the file `go` exists. */
const waiting = (go: string): string => `
import { existsSync } from 'node:fs'
const { emit } = process
process.emit = (event, ...args) => {
  if (event !== 'message' || args[0].kind !== 'complete' || existsSync(${JSON.stringify(go)})) return emit.call(process, event, ...args)
  setTimeout(() => process.emit(event, ...args), 50)
  return true
}
await import(${JSON.stringify(ENTRY.href)})
`

it('a load that runs out of memory waits for the end of a publication, and no page is to blame', async () => {
  const { writer } = app.warehouse
  const place = app.workspace()
  const limit = (size: string) => writer.run(`SET memory_limit = '${size}'`)
  const large = async (minute: number): Promise<LoadablePage> => {
    const records = Array.from({ length: 200 }, (_, n) => ({ ID: `${minute}-${n}`, summary: `${n} `.repeat(20_000) }))
    return landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 })
  }
  await place.load(await landConversations(place.landing, { records: [{ ID: 'a' }], sentAtMs: SENT_AT_MS }))
  const [first, second] = [await large(1), await large(2)]
  await limit(TOO_LITTLE)
  await expect(place.load(first)).rejects.toMatchObject({ code: 'LOAD_FAILED' })
  await limit('1GB')

  const [go, entry] = [join(app.home, 'go'), join(app.home, 'waiting.mjs')]
  await writeFile(entry, waiting(go))
  const order: string[] = []
  let isApplying = false
  const published = publishTo(app, newTarget(app.home), {
    entry: pathToFileURL(entry),
    verify: true,
    onPhase(phase) {
      isApplying ||= phase === 'applying'
      // Reached before the publication ends, and so before the load is tried again.
      if (phase === 'verifying') void limit('1GB')
    },
  }).then(() => order.push('published'))
  await until(() => isApplying)
  await limit(TOO_LITTLE)
  const loaded = place.load(second).finally(() => order.push('loaded'))
  // The load has failed by then: its transaction is over.
  await new Promise(resolve => setTimeout(resolve, 200))
  await writer.exclusively(async () => {})
  await writeFile(go, '')
  expect(await loaded).toMatchObject({ inserted: 200, quarantined: 0 })
  await published
  expect(order).toEqual(['published', 'loaded'])
})
