import { describe, expect, it } from 'vitest'
import { readRetryAfter, readServerDate } from '../../src/vendor/exchange.ts'

const DATE = 'Fri, 20 Nov 2026 20:49:46 GMT'
const NOW = Date.parse(DATE)

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['1.5', 1_500],
    ['Fri, 20 Nov 2026 20:50:00 GMT', 14_000],
    ['Fri, 20 Nov 2026 20:00:00 GMT', 0],
    ['-5', null],
    ['soon', null],
    ['', null],
    [undefined, null],
  ])('of %j is %j ms', (header, ms) => {
    expect(readRetryAfter(header, NOW)).toBe(ms)
  })
})

describe('Date', () => {
  it.each([
    [DATE, NOW],
    ['yesterday', null],
    [undefined, null],
  ])('of %j is %j', (header, ms) => {
    expect(readServerDate(header)).toBe(ms)
  })
})
