import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Slots } from '../../src/core/slots.ts'

describe('slots', () => {
  it('serve in the order of arrival, and free a slot when the work fails', async () => {
    const slots = new Slots(1)
    const order: number[] = []
    const work = (n: number) =>
      slots.run(async () => {
        order.push(n)
        await sleep(1)
        if (n === 1) throw new Error('failed')
        return n
      })
    const results = await Promise.allSettled([1, 2, 3].map(work))
    expect(order).toEqual([1, 2, 3])
    expect(results.map(result => result.status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(await work(4)).toBe(4)
  })

  it('forget a caller that gives up waiting, without losing a slot', async () => {
    const slots = new Slots(1)
    const gaveUp = new AbortController()
    let release = () => {}
    const first = slots.run(
      () =>
        new Promise<void>(resolve => {
          release = resolve
        }),
    )
    const second = slots.run(async () => 'second', gaveUp.signal)
    const third = slots.run(async () => 'third')
    gaveUp.abort()
    expect(await second).toBeUndefined()
    release()
    await first
    expect(await third).toBe('third')
    expect(await slots.run(async () => 'free')).toBe('free')
  })
})
