import { describe, expect, it } from 'vitest'
import { backoffMs, backoffUntilMs, MAX_IDLE_PAGES } from '../../../src/core/planning/no-progress.ts'
import { advance } from '../../../src/core/planning/window-progress.ts'
import { newProgress, openWindow, type PageFacts, type WindowProgress } from '../../../src/core/planning/windows.ts'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'

const NOW = Date.UTC(2026, 10, 20)
const WINDOW = openWindow({ agentId: 'a', kind: 'tail', fromSec: null, toSec: NOW / 1_000, openedAtMs: NOW })

/** Returns an empty page that reports more pages and the number of scanned conversations. */
const emptyPage = (sequence: number, scanned: number | null): PageFacts => ({
  window: WINDOW,
  generation: 1,
  sequence,
  limit: 100,
  atMs: NOW,
  cursorIn: sequence === 1 ? null : `c${sequence - 1}`,
  cursorOut: `c${sequence}`,
  hasMore: true,
  returned: 0,
  scanned,
  billed: 0,
  lastTsMs: null,
  missing: [],
})

const led = (pages: number, scanned: number | null): WindowProgress =>
  Array.from({ length: pages }, (_, index) => emptyPage(index + 1, scanned)).reduce(advance, newProgress(WINDOW))

describe('a window whose pages are empty', () => {
  it('backs off from the first run on that brought nothing else, doubling up to a day', () => {
    const pauses = [0, 1, 2, 3, 4, 40].map(runs => backoffMs(led(runs * MAX_IDLE_PAGES, 0)))
    expect(pauses).toEqual([0, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, DAY])
  })

  it('is given twice as many pages if conversations were scanned for them, or if the vendor does not say', () => {
    for (const scanned of [100, null]) {
      expect(backoffMs(led(2 * MAX_IDLE_PAGES - 1, scanned))).toBe(0)
      expect(backoffMs(led(2 * MAX_IDLE_PAGES, scanned))).toBe(15 * MINUTE)
    }
  })

  it('backs off from the time of its newest page, and not after a page with a conversation', () => {
    const progress = led(MAX_IDLE_PAGES, 0)
    expect(backoffUntilMs(progress, NOW, NOW)).toBe(NOW + 15 * MINUTE)
    expect(backoffUntilMs(progress, NOW, NOW + 15 * MINUTE)).toBeNull()
    const page = { ...emptyPage(MAX_IDLE_PAGES + 1, 1), returned: 1, ids: 'abcd', lastTsMs: NOW - HOUR }
    expect(backoffMs(advance(progress, page))).toBe(0)
  })
})
