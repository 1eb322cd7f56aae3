import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openQueryQueue } from '../../../src/warehouse/query/concurrency.ts'

const never = () => new AbortController().signal

describe('query slots', () => {
  it('are granted in the order of requests, up to the limit at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 20 }), async (running, queries) => {
        const queue = openQueryQueue({ running, waiting: queries })
        const begun: number[] = []
        let [atOnce, most] = [0, 0]
        const query = async (number: number) => {
          const end = await queue.acquire(60_000, never())
          begun.push(number)
          most = Math.max(most, ++atOnce)
          await new Promise(setImmediate)
          atOnce -= 1
          end()
        }
        await Promise.all(Array.from({ length: queries }, (_, number) => query(number)))
        expect(begun).toEqual(begun.toSorted((a, b) => a - b))
        expect(most).toBe(Math.min(running, queries))
      }),
      { numRuns: 30 },
    )
  })

  it('are refused at once if too many queries wait, and later if one has waited too long or was aborted', async () => {
    const queue = openQueryQueue({ running: 1, waiting: 2 })
    const end = await queue.acquire(60_000, never())
    const leaving = new AbortController()
    const [late, left] = [queue.acquire(20, never()), queue.acquire(60_000, leaving.signal)]
    await expect(queue.acquire(60_000, never())).rejects.toMatchObject({
      code: 'TOO_MANY_QUERIES',
      message: /2 more wait/,
    })
    await expect(late).rejects.toMatchObject({ code: 'TOO_MANY_QUERIES', message: /waited 0.02 s/ })
    leaving.abort()
    await expect(left).rejects.toMatchObject({ code: 'INTERRUPTED' })
    const next = queue.acquire(60_000, never())
    await sleep(1)
    end()
    ;(await next)()
    ;(await queue.acquire(60_000, never()))()
  })
})
