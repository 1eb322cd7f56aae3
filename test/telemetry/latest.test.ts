import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { latest } from '../../src/telemetry/latest.ts'

/** Returns a source whose answers the test controls, with its own clock. */
function source() {
  let nowMs = 0
  const asked: { answer: (value: number) => void; fail: () => void }[] = []
  const read = () =>
    new Promise<number>((resolve, reject) =>
      asked.push({ answer: resolve, fail: () => reject(new Error('the disk fails')) }),
    )
  const ask = latest({ read, freshMs: 10, patienceMs: 30, staleMs: 100, now: () => nowMs })
  return {
    asked,
    ask,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('a source that may be slow', () => {
  it('is awaited no longer than the given patience, and asked once at a time', async () => {
    const { asked, ask } = source()
    expect(await Promise.all([ask(), ask()])).toEqual([null, null])
    expect(asked.length).toBe(1)
    asked[0]!.answer(1)
    await sleep(0)
    expect(await ask()).toBe(1)
    expect(asked.length).toBe(1)
  })

  it('is represented by its last answer until that is stale', async () => {
    const { asked, ask, pass } = source()
    const first = ask()
    asked[0]!.answer(1)
    expect(await first).toBe(1)
    pass(50)
    expect(await ask()).toBe(1)
    pass(51)
    expect(await ask()).toBe(null)
    asked[1]!.answer(2)
    await sleep(0)
    // The value is 51 ms old: it is returned, and a new one is requested.
    expect(await ask()).toBe(2)
    expect(asked.length).toBe(3)
  })

  it('that fails is asked again, and represented by its last answer until then', async () => {
    const { asked, ask, pass } = source()
    const first = ask()
    asked[0]!.answer(1)
    await first
    pass(20)
    const second = ask()
    asked[1]!.fail()
    expect(await second).toBe(1)
    const third = ask()
    asked[2]!.answer(3)
    expect(await third).toBe(3)
  })
})
