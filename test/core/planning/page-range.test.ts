import { describe, expect, it } from 'vitest'
import { advance, pageRangeOf, reachingTo } from '../../../src/core/planning/window-progress.ts'
import { newProgress, openWindow, type PageFacts, type WindowKind } from '../../../src/core/planning/windows.ts'

const openedAtMs = Date.UTC(2026, 5, 1)
const windowOf = (kind: WindowKind, fromSec: number | null = 1_000, toSec = 2_000) =>
  openWindow({ agentId: 'a', kind, fromSec, toSec, openedAtMs, ...(kind === 'refresh' && { ids: ['x', 'y'] }) })

const page = (window: PageFacts['window'], sequence: number, given: Partial<PageFacts> = {}): PageFacts => ({
  window,
  generation: 1,
  sequence,
  limit: 100,
  atMs: 0,
  cursorIn: sequence > 1 ? 'c' : null,
  cursorOut: 'c',
  hasMore: true,
  returned: 100,
  scanned: 100,
  billed: 100,
  lastTsMs: null,
  missing: [],
  ...given,
})

/** The time range of each page of a window; the pages are given in order. */
function rangesOf(window: PageFacts['window'], pages: Partial<PageFacts>[]) {
  let progress = newProgress(window)
  return pages.map((given, index) => {
    const facts = page(window, index + 1, given)
    const range = pageRangeOf(progress, facts)
    progress = advance(progress, facts)
    return range
  })
}

describe('the time range of a page', () => {
  it('lies between the last conversations of two pages, in either sort order', () => {
    const up = [{ lastTsMs: 1_300_500 }, { lastTsMs: 1_700_000 }, { hasMore: false, lastTsMs: 1_900_000 }]
    expect(rangesOf(windowOf('head'), up)).toEqual([
      { from: 1_000, to: 1_300 },
      { from: 1_300, to: 1_700 },
      { from: 1_700, to: 2_000 },
    ])
    const down = [{ lastTsMs: 1_700_000 }, { lastTsMs: 1_300_000 }, { hasMore: false, lastTsMs: 1_100_000 }]
    expect(rangesOf(windowOf('tail', null), down)).toEqual([
      { from: 1_700, to: 2_000 },
      { from: 1_300, to: 1_700 },
      { from: null, to: 1_300 },
    ])
  })

  it('is the rest of the window for a page without times, and the next page starts at the same point', () => {
    const pages = [{ lastTsMs: 1_700_000 }, { returned: 0 }, { lastTsMs: 1_300_000 }]
    expect(rangesOf(windowOf('reread'), pages)).toEqual([
      { from: 1_700, to: 2_000 },
      { from: 1_000, to: 1_700 },
      { from: 1_300, to: 1_700 },
    ])
  })

  it('is never inverted or outside the requested range, whatever times the records have', () => {
    const pages = [{ lastTsMs: 1_200_000 }, { lastTsMs: 1_900_000 }, { lastTsMs: 9_000_000 }, { lastTsMs: 10 }]
    for (const range of rangesOf(windowOf('tail'), pages)) {
      expect(range!.from).toBeGreaterThanOrEqual(1_000)
      expect(range!.to).toBeLessThanOrEqual(2_000)
      expect(range!.to).toBeGreaterThanOrEqual(range!.from!)
    }
  })
})

describe('a page that is followed by another', () => {
  const down = windowOf('tail')
  const up = windowOf('head')
  const progressAfter = (window: PageFacts['window'], lastTsMs: number) =>
    advance(newProgress(window), page(window, 1, { lastTsMs }))

  it('reaches to the first conversation of the next page: conversations skipped in between lie there', () => {
    const falling = page(down, 2, { firstTsMs: 1_650_000, lastTsMs: 1_400_000 })
    expect(reachingTo({ from: 1_700, to: 2_000 }, progressAfter(down, 1_700_000), falling)).toEqual({
      from: 1_650,
      to: 2_000,
    })
    const rising = page(up, 2, { firstTsMs: 1_350_000, lastTsMs: 1_600_000 })
    expect(reachingTo({ from: 1_000, to: 1_300 }, progressAfter(up, 1_300_000), rising)).toEqual({
      from: 1_000,
      to: 1_350,
    })
  })

  it('reaches to the end of a next page without times, and never gets shorter', () => {
    const silent = page(down, 2, { returned: 0 })
    expect(reachingTo({ from: 1_700, to: 2_000 }, progressAfter(down, 1_700_000), silent)).toEqual({
      from: 1_000,
      to: 2_000,
    })
    const above = page(down, 2, { firstTsMs: 1_800_000, lastTsMs: 1_400_000 })
    expect(reachingTo({ from: 1_700, to: 2_000 }, progressAfter(down, 1_700_000), above)).toEqual({
      from: 1_700,
      to: 2_000,
    })
  })
})
