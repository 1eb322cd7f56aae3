// The vendor echoes the query that it applied. If the echo differs from the request, the answer proves nothing about the requested range.
import { describe, expect, it } from 'vitest'
import { misread } from '../../src/client/echo.ts'

type Echo = Record<string, unknown>

const [FROM, TO] = [1_780_000_000_000, 1_780_086_400_999]
const ASKED = { sort: 'asc' as const, fromTs: FROM, toTs: TO, limit: 100 }

describe('an echoed query', () => {
  it.each<[string, Echo | null]>([
    ['is missing', null],
    ['has null values', { sort: null, fromTs: null, toTs: null }],
    ['equals the request', { sort: 'asc', fromTs: FROM, toTs: TO }],
    ['is in seconds', { sort: 'asc', fromTs: FROM / 1_000, toTs: Math.floor(TO / 1_000) }],
    ['is rounded up', { toTs: Math.ceil(TO / 1_000) }],
    ['is in microseconds', { fromTs: FROM * 1_000, toTs: TO * 1_000 }],
    ['is text', { sort: 'ASC', fromTs: String(FROM), toTs: String(TO) }],
    ['is ISO-8601', { sort: 'ascending', fromTs: new Date(FROM).toISOString(), toTs: new Date(TO).toISOString() }],
    ['cannot be parsed', { sort: 'ts', fromTs: 'then', toTs: {} }],
  ])('is accepted if it %s', (_, echo) => {
    expect(misread(ASKED, echo)).toBeNull()
  })

  it.each<[string, Echo]>([
    ['sort', { sort: 'desc' }],
    ['fromTs', { fromTs: FROM - 1_000 }],
    ['fromTs', { fromTs: String(FROM + 1_000) }],
    ['toTs', { toTs: TO - 1_000 }],
    ['toTs', { toTs: Math.ceil(TO / 1_000) + 1 }],
  ])('is rejected if its %s differs: %j', (field, echo) => {
    expect(misread(ASKED, echo)).toBe(field)
  })

  it('is rejected if it adds a lower bound other than 0', () => {
    const { fromTs: _, ...open } = ASKED
    expect(misread(open, { fromTs: FROM })).toBe('fromTs')
    expect([0, null, '0', -1].map(fromTs => misread(open, { fromTs }))).toEqual([null, null, null, null])
  })
})
