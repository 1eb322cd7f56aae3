import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConversationOrder, type Place } from '../../../src/sandbox/world/order.ts'

const BASE_MS = 1_000_000

/** Few distinct times, so that equal ones are common; 0 means a record without `ts`. */
const time = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.integer({ min: BASE_MS, max: BASE_MS + 12 }) },
)
const bound = fc.oneof(
  fc.constant(0),
  fc.integer({ min: BASE_MS - 3, max: BASE_MS + 15 }),
  fc.constant(Number.POSITIVE_INFINITY),
)
const places = fc.array(time, { maxLength: 60 }).map(times => times.map((ts, index): Place => ({ ts, index })))

function sorted(list: Place[], sort: 'asc' | 'desc'): Place[] {
  const ascending = list.toSorted((a, b) => a.ts - b.ts || a.index - b.index)
  return sort === 'asc' ? ascending : ascending.reverse()
}

function orderOf(list: Place[]): ConversationOrder {
  const order = new ConversationOrder(BASE_MS)
  for (const place of list) order.add(place, 0)
  return order
}

describe('the order of conversations', () => {
  it('walks exactly the places within its bounds, in both directions', () => {
    fc.assert(
      fc.property(
        places,
        fc.constantFrom('asc' as const, 'desc' as const),
        bound,
        bound,
        (list, sort, fromMs, toMs) => {
          const walked = [...orderOf(list).walk({ sort, fromMs, toMs, after: undefined }, () => true)]
          const expected = list.filter(place => place.ts >= fromMs && place.ts <= toMs)
          expect(walked).toEqual(sorted(expected, sort))
        },
      ),
    )
  })

  it('continues right after any place, also one that no longer exists', () => {
    fc.assert(
      fc.property(
        places,
        fc.constantFrom('asc' as const, 'desc' as const),
        time,
        fc.nat(60),
        (list, sort, ts, index) => {
          const after = { ts, index }
          const walk = { sort, fromMs: 0, toMs: Number.POSITIVE_INFINITY, after }
          const rest = list.filter(place => {
            const distance = place.ts - ts || place.index - index
            return sort === 'asc' ? distance > 0 : distance < 0
          })
          expect([...orderOf(list).walk(walk, () => true)]).toEqual(sorted(rest, sort))
        },
      ),
    )
  })

  it('distinguishes places beyond a 32-bit count of milliseconds', () => {
    const far = [0, 2 ** 33, 2 ** 33 + 1, 2 ** 37].map((ms, index) => ({ ts: BASE_MS + ms, index }))
    const walk = { sort: 'asc' as const, fromMs: BASE_MS + 1, toMs: BASE_MS + 2 ** 37, after: undefined }
    expect([...orderOf(far).walk(walk, () => true)]).toEqual(far.slice(1))
  })
})
