import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compactTimestamp,
  DAY,
  durationText,
  formatDuration,
  HOUR,
  MINUTE,
  parseDuration,
  parseMoment,
  readTime,
  SECOND,
} from '../../src/core/time.ts'

/** Times that are unambiguous in s, ms and µs: from 1973, the earliest time that is read as ms, to 2286. */
const moments = fc.integer({ min: 1e11, max: 1e13 - 1 })

describe('a numeric time', () => {
  it('is the same moment in seconds, milliseconds and microseconds', () => {
    fc.assert(
      fc.property(moments, ms => {
        expect(readTime(ms)).toEqual({ ms })
        expect(readTime(ms * 1_000)).toEqual({ ms })
        const seconds = Math.floor(ms / 1_000)
        expect(readTime(seconds)).toEqual({ ms: seconds * 1_000 })
      }),
    )
  })

  it.each([
    [1, 1_000],
    [1_763_600_000.5, 1_763_600_000_500],
    [1e11 - 1, (1e11 - 1) * 1_000],
    [1e11, 1e11],
    [1e14 - 1, 1e14 - 1],
    [1e14, 1e11],
  ])('%d is %d ms after the epoch', (raw, ms) => expect(readTime(raw)).toEqual({ ms }))

  it('that is zero means never', () => {
    expect(readTime(0)).toEqual({ ms: null, reason: 'zero' })
    expect(readTime(-0)).toEqual({ ms: null, reason: 'zero' })
  })

  it.each([-1, 1e17, Number.NaN, Infinity, -Infinity])('%d is out of range', raw => {
    expect(readTime(raw)).toEqual({ ms: null, reason: 'out-of-range' })
  })
})

describe('a duration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30 * SECOND],
    ['15m', 15 * MINUTE],
    ['1.5h', 90 * MINUTE],
    [' 2 d ', 2 * DAY],
    ['1w', 7 * DAY],
    ['0s', 0],
    // Values are limited to the range of a calendar.
    ['40000d', 36_525 * DAY],
    [`${'9'.repeat(400)}w`, 36_525 * DAY],
  ])('%j is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', '15', 'm', '-5m', '5 min', '1h30m', '1e3s', '.5h', 'infinity'])('cannot be read from %j', text => {
    expect(parseDuration(text)).toBeUndefined()
  })

  it.each([
    [0, '0 s'],
    [-5, '0 s'],
    [499, '0 s'],
    [12 * SECOND, '12 s'],
    [2 * HOUR + 5 * MINUTE + 59 * SECOND, '2 h 5 min'],
    [3 * DAY + 4 * HOUR, '3 d 4 h'],
    [DAY + 5 * MINUTE, '1 d'],
    [400 * DAY, '400 d'],
  ])('of %d ms is shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))
})

describe('a setting that is a duration', () => {
  it('is printed as users write it, in the largest unit that divides it', () => {
    expect([900_000, 90_000, 36 * HOUR, DAY, 7 * DAY, 1_500, 0].map(durationText)).toEqual([
      '15m',
      '90s',
      '36h',
      '1d',
      '7d',
      '1500ms',
      '0ms',
    ])
    fc.assert(fc.property(fc.nat(DAY), ms => parseDuration(durationText(ms)) === ms))
  })
})

describe('a compact timestamp', () => {
  it('sorts as text in the order of time, and is safe in a file name', () => {
    fc.assert(
      fc.property(moments, moments, (a, b) => {
        expect(compactTimestamp(a) < compactTimestamp(b)).toBe(a < b)
        expect(compactTimestamp(a)).toMatch(/^\d{8}T\d{9}Z$/)
      }),
    )
  })
})

describe('a moment that a person typed', () => {
  const now = Date.UTC(2026, 10, 20, 12)

  it('is read back from ISO 8601 and from epoch milliseconds', () => {
    fc.assert(
      fc.property(moments, ms => {
        expect(parseMoment(new Date(ms).toISOString(), now)).toBe(ms)
        expect(parseMoment(String(ms), now)).toBe(ms)
      }),
    )
  })

  it.each([
    ['90d', now - 90 * DAY],
    ['1763600000', 1_763_600_000_000],
    ['2026-11-20', Date.UTC(2026, 10, 20)],
    ['2026-11-20T10:30', Date.UTC(2026, 10, 20, 10, 30)],
    ['2026-11-20 10:30:15', Date.UTC(2026, 10, 20, 10, 30, 15)],
    ['2026-11-20T10:00:00+02:00', Date.UTC(2026, 10, 20, 8)],
    ['2026-11-20 10:00:00+02:00', Date.UTC(2026, 10, 20, 8)],
    ['2026-11-20T10:00:00-0530', Date.UTC(2026, 10, 20, 15, 30)],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['1763600000000000', 1_763_600_000_000],
    // Values before the epoch become 0.
    ['99999999999d', 0],
    ['1969-12-31', 0],
    ['0001-01-01T00:00:00Z', 0],
  ])('%j is understood, as UTC if it has no offset', (text, ms) => expect(parseMoment(text, now)).toBe(ms))

  it.each([
    '',
    'yesterday',
    '20/11/2026',
    '2026-13-01',
    '2026-02-30',
    '2026-02-30T10:00:00Z',
    '2026-11-20 noon',
    '0',
    '-5',
    // A year, and a date without its dashes: read as epoch seconds, both would be in 1970.
    '2026',
    '20260115',
    '999999999',
    '12345678901234567',
    '1_763_600_000',
    'NaN',
    'Infinity',
  ])('cannot be read from %j', text => expect(parseMoment(text, now)).toBeUndefined())
})
