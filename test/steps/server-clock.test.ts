import { describe, expect, it } from 'vitest'
import { openServerClock } from '../../src/steps/server-clock.ts'

const NOW = 1_750_000_000_400

describe("the server's clock", () => {
  it('is ours until it is told', () => {
    expect(openServerClock().at(NOW)).toBe(NOW)
  })

  it('is believed where it is off by more than its whole seconds can explain', () => {
    const clock = openServerClock()
    clock.tell({ serverDateMs: NOW - 400 + 60_000, sentAtMs: NOW, receivedAtMs: NOW + 200 })
    expect(Math.abs(clock.at(NOW) - (NOW + 60_000))).toBeLessThanOrEqual(500)
  })

  it('does not jitter with whole seconds, nor with answers that say nothing', () => {
    const clock = openServerClock()
    for (const off of [-1_000, 0, 1_000])
      clock.tell({ serverDateMs: NOW - 400 + off, sentAtMs: NOW, receivedAtMs: NOW })
    clock.tell({ serverDateMs: null, sentAtMs: NOW, receivedAtMs: NOW })
    expect(clock.at(NOW)).toBe(NOW)
  })
})
