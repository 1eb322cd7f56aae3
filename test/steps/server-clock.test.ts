import { describe, expect, it } from 'vitest'
import { openServerClock } from '../../src/steps/server-clock.ts'

const NOW = 1_750_000_000_400

describe("the server's clock", () => {
  it('is ours until the server reports one', () => {
    expect(openServerClock().at(NOW)).toBe(NOW)
  })

  it('is followed after two answers in a row that are off by more than its resolution of a second', () => {
    const clock = openServerClock()
    const ahead = { serverDateMs: NOW - 400 + 60_000, sentAtMs: NOW, receivedAtMs: NOW + 200 }
    clock.observe(ahead)
    expect([clock.at(NOW), clock.doubts()]).toEqual([NOW, true])
    clock.observe(ahead)
    expect(clock.doubts()).toBe(false)
    expect(Math.abs(clock.at(NOW) - (NOW + 60_000))).toBeLessThanOrEqual(500)
  })

  it('ignores answers whose time is occasionally wrong', () => {
    const clock = openServerClock()
    for (const off of [3_600_000, 0, -3_600_000, 7_200_000, 0])
      clock.observe({ serverDateMs: NOW - 400 + off, sentAtMs: NOW, receivedAtMs: NOW })
    expect(clock.at(NOW)).toBe(NOW)
  })

  it('is the earlier of two times as long as one of them is in doubt', () => {
    const clock = openServerClock()
    const observeOffset = (off: number) =>
      clock.observe({ serverDateMs: NOW - 400 + off, sentAtMs: NOW, receivedAtMs: NOW })
    const passed = (off: number) => expect(Math.abs(clock.passedAt(NOW) - NOW - off)).toBeLessThanOrEqual(500)
    observeOffset(3_600_000)
    passed(0)
    observeOffset(-86_400_000)
    passed(-86_400_000)
    observeOffset(0)
    passed(0)
  })

  it('does not jitter with full seconds, nor with answers without a time', () => {
    const clock = openServerClock()
    for (const off of [-1_000, 0, 1_000])
      clock.observe({ serverDateMs: NOW - 400 + off, sentAtMs: NOW, receivedAtMs: NOW })
    clock.observe({ serverDateMs: null, sentAtMs: NOW, receivedAtMs: NOW })
    expect(clock.at(NOW)).toBe(NOW)
  })
})
