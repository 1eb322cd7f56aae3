import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { skipsKnown } from '../../../src/core/planning/refresh-rule.ts'

const nothing = (refreshes: number): boolean[] => Array.from({ length: refreshes }, () => false)
const CHANGE = [true]

describe('refreshes without a new message', () => {
  it('are skipped once fifty of them have found at most one change', () => {
    expect(skipsKnown(nothing(49))).toBe(false)
    expect(skipsKnown(nothing(50))).toBe(true)
    expect(skipsKnown([...CHANGE, ...nothing(49)])).toBe(true)
    expect(skipsKnown([...CHANGE, ...nothing(48), ...CHANGE])).toBe(false)
  })

  it('are skipped although earlier ones found changes, once these are older than fifty', () => {
    const changes = Array.from({ length: 80 }, () => true)
    expect(skipsKnown([...changes, ...nothing(48)])).toBe(false)
    expect(skipsKnown([...changes, ...nothing(49)])).toBe(true)
  })

  it('stay skipped after two changes among their last fifty, and are exported again after three', () => {
    const two = [...nothing(50), ...CHANGE, ...nothing(10), ...CHANGE]
    expect(skipsKnown(two)).toBe(true)
    expect(skipsKnown([...two, ...nothing(20), ...CHANGE])).toBe(false)
    expect(skipsKnown([...two, ...nothing(40), ...CHANGE])).toBe(true)
  })

  it('are never skipped after three changes among the last fifty, and always after at most one', () => {
    const found = fc.array(
      fc.integer({ min: 0, max: 19 }).map(draw => draw === 0),
      { minLength: 50, maxLength: 300 },
    )
    fc.assert(
      fc.property(found, found => {
        const changes = found.slice(-50).filter(Boolean).length
        if (changes >= 3) expect(skipsKnown(found)).toBe(false)
        if (changes <= 1) expect(skipsKnown(found)).toBe(true)
      }),
    )
  })
})
