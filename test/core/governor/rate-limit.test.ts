import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  applyReportedLimit,
  countRequest,
  newRateLimit,
  nextFreeRequestMs,
  type RateLimitState,
  requestsLeft,
} from '../../../src/core/governor/rate-limit.ts'

const HOUR = 3_600_000
const NOW = 1_750_000_000_000
const at = (ms: number) => ({ sentAtMs: ms, receivedAtMs: ms + 10 })
const report = (rateLimit: RateLimitState, remainingHour: number | null, ms: number, requestsPerHour = 100) =>
  applyReportedLimit(rateLimit, { requestsPerHour, remainingHour }, at(ms))

describe('our own request count', () => {
  it('never lets the vendor count more requests than it allows, however slow answers are and whenever it counts', () => {
    const trip = fc.record({
      latencyMs: fc.integer({ min: 1, max: 30_000 }),
      counted: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(trip, { minLength: 40, maxLength: 60 }), (limit, trips) => {
        let rateLimit = newRateLimit(HOUR, limit)
        let nowMs = NOW
        const vendor: number[] = []
        for (const { latencyMs, counted } of trips) {
          while (requestsLeft(rateLimit, nowMs, 0) < 1) nowMs = nextFreeRequestMs(rateLimit, nowMs)
          vendor.push(nowMs + latencyMs * counted)
          nowMs += latencyMs
          rateLimit = countRequest(rateLimit, nowMs)
        }
        for (const last of vendor)
          expect(vendor.filter(time => time > last - HOUR && time <= last).length).toBeLessThanOrEqual(limit)
      }),
    )
  })
})

describe('the reported rate limit', () => {
  it('is used if fewer requests remain than by our own count', () => {
    expect(requestsLeft(report(newRateLimit(HOUR, 100), 7, NOW), NOW + 1_000, 0)).toBe(7)
  })

  it('decreases with the requests that we send later', () => {
    const rateLimit = countRequest(report(newRateLimit(HOUR, 100), 7, NOW), NOW + 60_000, { count: 3 })
    expect(requestsLeft(rateLimit, NOW + 61_000, 0)).toBe(4)
  })

  it('increases as our own requests leave the hour', () => {
    const rateLimit = report(countRequest(newRateLimit(HOUR, 100), NOW - HOUR / 2, { count: 20 }), 30, NOW)
    expect(requestsLeft(rateLimit, NOW + HOUR / 4, 0)).toBe(30)
    expect(requestsLeft(rateLimit, NOW + HOUR / 2 + 20_000, 0)).toBe(50)
  })

  it('is ordered by the time of the request, not of the answer', () => {
    const rateLimit = report(report(newRateLimit(HOUR, 100), 5, NOW + 10), 50, NOW)
    expect(rateLimit.reported?.remaining).toBe(5)
  })

  it('expires after an hour', () => {
    const rateLimit = report(newRateLimit(HOUR, 100), 0, NOW)
    expect(requestsLeft(rateLimit, NOW + HOUR - 1, 0)).toBe(0)
    expect(requestsLeft(rateLimit, NOW + HOUR, 0)).toBe(100)
  })
})

describe('the time of the next free request', () => {
  it('is always in the future, within an hour and a slice', () => {
    const reported = fc.option(fc.record({ remaining: fc.nat(5), agoMs: fc.nat(2 * HOUR) }), { nil: null })
    fc.assert(
      fc.property(fc.array(fc.nat(2 * HOUR), { maxLength: 20 }), reported, (times, last) => {
        const counted = times.reduce((state, ago) => countRequest(state, NOW - ago), newRateLimit(HOUR, 5))
        const rateLimit = last ? report(counted, last.remaining, NOW - last.agoMs, 5) : counted
        const again = nextFreeRequestMs(rateLimit, NOW)
        expect(again).toBeGreaterThan(NOW)
        expect(again).toBeLessThanOrEqual(NOW + HOUR + HOUR / 360)
      }),
    )
  })
})
