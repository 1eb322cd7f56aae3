import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs, backoffUntilMs } from '../../../src/core/planning/planner.ts'
import {
  advance,
  newProgress,
  openWindow,
  type PageFacts,
  type WindowProgress,
} from '../../../src/core/planning/windows.ts'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'

const NOW = Date.UTC(2026, 10, 20)
const WINDOW = openWindow({ agentId: 'a', kind: 'tail', fromSec: null, toSec: NOW / 1_000, openedAtMs: NOW })

/** A page that reports more pages. */
const page = (generation: number, sequence: number, lastTsMs: number | null): PageFacts => ({
  window: WINDOW,
  generation,
  sequence,
  limit: 100,
  cursorIn: sequence === 1 ? null : 'c',
  cursorOut: 'c',
  hasMore: true,
  returned: 100,
  scanned: 100,
  billed: 100,
  lastTsMs,
  missing: [],
})

const folded = (pages: readonly PageFacts[]): WindowProgress => pages.reduce(advance, newProgress(WINDOW))

/** A window that makes no progress: generations of one page each, all within the same second. */
const stuck = (generations: number): WindowProgress =>
  folded(Array.from({ length: generations }, (_, index) => page(index + 1, 1, NOW - HOUR)))

describe('a window that restarts without progress', () => {
  it('backs off from the third time on, doubling up to a day', () => {
    const rests = Array.from({ length: 14 }, (_, index) => backoffMs(stuck(index + 1)))
    expect(rests.slice(0, 8)).toEqual([0, 0, 0, 0, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR])
    expect(rests.at(-1)).toBe(DAY)
    expect(backoffMs({ vain: 1e9 })).toBe(DAY)
  })

  it('backs off from the time of its newest page, and no longer', () => {
    const progress = stuck(7)
    expect(backoffUntilMs(progress, NOW, NOW)).toBe(NOW + HOUR)
    expect(backoffUntilMs(progress, NOW, NOW + HOUR)).toBeNull()
    expect(backoffUntilMs(stuck(2), NOW, NOW)).toBeNull()
  })

  it('stops backing off once it has progressed, in time or in pages', () => {
    const before = stuck(7)
    expect(backoffMs(advance(advance(before, page(8, 1, NOW - 2 * HOUR)), page(9, 1, NOW - 2 * HOUR)))).toBe(0)
    const further = [page(8, 1, NOW - HOUR), page(8, 2, NOW - HOUR), page(9, 1, NOW - HOUR)]
    expect(backoffMs(further.reduce(advance, before))).toBe(0)
  })

  it('never backs off while each generation lands something new', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 30 }), lengths => {
        const places = lengths.flatMap((length, index) =>
          Array.from({ length }, (_, sequence) => [index + 1, sequence + 1] as const),
        )
        const pages = places.map(([generation, sequence], at) => page(generation, sequence, NOW - at * MINUTE))
        expect(backoffMs(folded(pages))).toBe(0)
      }),
    )
  })

  it('does not back off if an older version wrote it', () => {
    expect(
      backoffUntilMs({ ...newProgress(WINDOW), vain: undefined } as unknown as WindowProgress, NOW, NOW),
    ).toBeNull()
  })
})
