import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idsFitting } from '../../../src/core/planning/window-ids.ts'
import { advance, coveredBy, pageRangeOf } from '../../../src/core/planning/window-progress.ts'
import { nextRequest, restarted, type WindowQuery } from '../../../src/core/planning/window-query.ts'
import {
  newProgress,
  openWindow,
  type PageFacts,
  restartPoint,
  type Window,
  type WindowProgress,
} from '../../../src/core/planning/windows.ts'
import { factsOf, type PagedVendor, pageOf } from './paged-vendor.ts'

const OPENED_AT_MS = Date.UTC(2026, 10, 20, 9)

/** Base of all windows in this file: bounds are seconds or ms after it. */
const BASE_SEC = 1_700_000_000
const at = (ms: number): number => BASE_SEC * 1_000 + ms

const windowOf = (parts: Partial<Omit<Window, 'name'>> = {}): Window =>
  openWindow({
    agentId: 'a',
    kind: 'head',
    fromSec: BASE_SEC + 100,
    toSec: BASE_SEC + 200,
    openedAtMs: OPENED_AT_MS,
    ...parts,
  })

const factsAt = (progress: WindowProgress, parts: Partial<PageFacts> = {}): PageFacts => ({
  window: progress.window,
  generation: progress.generation,
  sequence: progress.sequence,
  limit: 10,
  atMs: 0,
  cursorIn: progress.cursor,
  cursorOut: 'next',
  hasMore: true,
  returned: 10,
  scanned: 12,
  billed: 11,
  lastTsMs: at(150_000),
  missing: [],
  ...parts,
})

describe('a window', () => {
  it.each([
    ['head', 'asc'],
    ['tail', 'desc'],
    ['full', 'desc'],
  ] as const)('of kind %s is requested in order %s, within bounds of full seconds', (kind, sort) => {
    expect(nextRequest(newProgress(windowOf({ kind })), 50).query).toEqual({
      sort,
      limit: 50,
      fromTs: at(100_000),
      toTs: at(200_999),
    })
  })

  it('of new conversations ends at the last one of a full last page: the next poll begins there', () => {
    const start = newProgress(windowOf())
    const ended = advance(start, factsAt(start, { hasMore: false, cursorOut: null }))
    expect(ended.done).toBe(true)
    expect(coveredBy(ended).at(-1)!.to).toBe(Math.floor(at(150_000) / 1_000))
  })

  it.each([
    ['head', [110_000, 120_500, 130_000], 130_000],
    ['tail', [130_000, 120_500, 110_000], 110_000],
    ['head', [120_000, 110_000, 130_000], 110_000],
    ['tail', [120_000, 130_000, 110_000], 130_000],
    // Two times in the same second, one of them truncated to whole seconds.
    ['tail', [120_000, 120_500], 120_500],
    ['head', [110_000, 5_000, 130_000, 9e15], 130_000],
    ['head', [], null],
  ] as const)('of kind %s restarts after a page with the times %j at %j', (kind, times, point) => {
    const recordTimes = times.map(ms => (ms < 9e15 ? at(ms) : ms))
    expect(restartPoint(windowOf({ kind }), recordTimes)).toBe(point === null ? null : at(point))
  })

  it.each([
    ['head', 999_000, { fromTs: at(200_999), toTs: at(200_999) }],
    ['head', 1_000, { fromTs: at(100_000), toTs: at(200_999) }],
    ['tail', 999_000, { fromTs: at(100_000), toTs: at(200_999) }],
    ['tail', 1_000, { fromTs: at(100_000), toTs: at(100_000) }],
  ] as const)('of kind %s stays inside its bounds if the last `ts` is %d', (kind, lastTsMs, bounds) => {
    const start = newProgress(windowOf({ kind }))
    const refused = restarted(advance(start, factsAt(start, { lastTsMs: at(lastTsMs) })))
    expect(nextRequest(refused, 10).query).toMatchObject(bounds)
  })

  it('by ids requests each id once, in order, and is done when all were requested', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 60 }),
        (count, limits) => {
          const ids = Array.from({ length: count }, (_, index) => `id${index}`)
          let progress = newProgress(windowOf({ kind: 'selected', ids }))
          const asked: string[] = []
          for (const limit of limits) {
            if (progress.done) break
            const { query } = nextRequest(progress, limit)
            asked.push(...query.convoIds!)
            progress = advance(
              progress,
              factsAt(progress, { limit: query.convoIds!.length, hasMore: false, cursorOut: null }),
            )
          }
          expect(progress.done).toBe(true)
          expect(asked).toEqual(ids)
        },
      ),
    )
  })

  it('by ids puts as many ids into a request as the length of a URL allows, and at least one', () => {
    const idsOf = (ids: string[]) => idsFitting(newProgress(windowOf({ kind: 'selected', ids })), 100)
    expect(idsOf(Array.from({ length: 50 }, () => 'x'.repeat(9)))).toBe(10)
    expect(idsOf(['x'.repeat(500), 'y'])).toBe(1)
    expect(idsOf(['ü'.repeat(20), 'y'])).toBe(1)
    expect(idsOf([])).toBe(0)
  })
})

describe('the time range of a page', () => {
  it('is never inverted or outside the requested range, whatever times the records have', () => {
    const pages = [120_000, 190_000, 900_000, 1].map(lastTsMs => ({ lastTsMs: at(lastTsMs) }))
    let progress = newProgress(windowOf({ kind: 'tail' }))
    for (const given of pages) {
      const facts = factsAt(progress, given)
      const { from, to } = pageRangeOf(progress, facts)!
      expect(from!).toBeGreaterThanOrEqual(progress.window.fromSec!)
      expect(to).toBeLessThanOrEqual(progress.window.toSec)
      expect(to).toBeGreaterThanOrEqual(from!)
      progress = advance(progress, facts)
    }
  })
})

const FROM_SEC = BASE_SEC + 100
const TO_SEC = BASE_SEC + 130

const vendors = fc.record({
  unit: fc.constantFrom('ms' as const, 's' as const),
  // Times are in the window, at its edges and just outside; many records share a `ts`.
  all: fc
    .array(
      fc.integer({ min: (FROM_SEC - 3) * 1_000, max: (TO_SEC + 3) * 1_000 }).map(ms => ms - (ms % 250)),
      { maxLength: 40 },
    )
    .map(all => all.map((tsMs, id) => ({ id, tsMs }))),
})

/** Events before each request: nothing, a refused cursor, or a changed limit. */
const disturbances = fc.array(fc.constantFrom('none', 'none', 'refused', 'smaller', 'larger'), { maxLength: 12 })

interface Sync {
  kind: 'head' | 'tail'
  fromSec: number | null
  vendor: PagedVendor
  disturbances: string[]
}

function paged({ kind, fromSec, vendor, disturbances: events }: Sync): {
  exported: Set<number>
  queries: WindowQuery[]
  done: boolean
  hasGap: boolean
} {
  let progress = newProgress(windowOf({ kind, fromSec, toSec: TO_SEC }))
  let limit = 5
  const exported = new Set<number>()
  const queries: WindowQuery[] = []
  for (let request = 0; request < 80 && !progress.done; request++) {
    const event = events[request] ?? 'none'
    if (event === 'refused' && request > 0) progress = restarted(progress)
    if (event === 'smaller') limit = 3
    // Paging is possible only if the limit exceeds the number of records at any one `ts`: the final limit does, as the
    // vendor's limit of 100 must.
    if (event === 'larger' || request >= events.length) limit = 41
    const next = nextRequest(progress, limit)
    const answer = pageOf(vendor, next.query)
    for (const { id } of answer.page) exported.add(id)
    queries.push(next.query)
    const { window, generation, sequence, cursor } = next.progress
    progress = advance(next.progress, factsOf({ window, generation, sequence, limit, cursorIn: cursor }, answer))
  }
  return { exported, queries, done: progress.done, hasGap: progress.gap !== undefined }
}

const syncs = fc.record({
  kind: fc.constantFrom('head' as const, 'tail' as const),
  fromSec: fc.constantFrom(FROM_SEC, null),
  vendor: vendors,
  disturbances,
})

describe('paging a window through refused cursors and changed limits', () => {
  it('returns every conversation of the window, and ends', () => {
    fc.assert(
      fc.property(syncs, sync => {
        const { exported, done, hasGap } = paged(sync)
        // Small pages whose records all share one second, twice without a usable cursor, end with a gap, which is requested again.
        fc.pre(!hasGap)
        const lowest = sync.fromSec === null ? Number.NEGATIVE_INFINITY : sync.fromSec * 1_000
        const inside = sync.vendor.all.filter(({ tsMs }) => tsMs >= lowest && tsMs <= TO_SEC * 1_000 + 999)
        expect(done).toBe(true)
        expect([...exported].sort((a, b) => a - b)).toEqual(inside.map(({ id }) => id))
      }),
      { numRuns: 500 },
    )
  })

  it('requests nothing outside the window', () => {
    fc.assert(
      fc.property(syncs, sync => {
        for (const { fromTs, toTs } of paged(sync).queries) {
          if (sync.fromSec === null && sync.kind === 'tail') expect(fromTs).toBeUndefined()
          if (sync.fromSec !== null) expect(fromTs).toBeGreaterThanOrEqual(sync.fromSec * 1_000)
          expect(toTs).toBeLessThanOrEqual(TO_SEC * 1_000 + 999)
          if (fromTs !== undefined) expect(toTs).toBeGreaterThanOrEqual(fromTs)
        }
      }),
    )
  })

  it('sends no time that could be of another unit: it requests a wider range instead, which covers the window', () => {
    const kinds = fc.constantFrom('head' as const, 'tail' as const, 'full' as const, 'reread' as const)
    const seconds = fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 4e9 }))
    fc.assert(
      fc.property(kinds, fc.option(seconds), seconds, fc.option(seconds), (kind, fromSec, length, lastSec) => {
        const toSec = (fromSec ?? 0) + length
        const start = newProgress(windowOf({ kind, fromSec, toSec }))
        const { query } = nextRequest(
          lastSec === null ? start : restarted(advance(start, factsAt(start, { lastTsMs: lastSec * 1_000 }))),
          10,
        )
        for (const time of [query.fromTs, query.toTs]) if (time !== undefined) expect(time).toBeGreaterThanOrEqual(1e12)
        if (lastSec !== null) return
        expect(query.fromTs ?? 0).toBeLessThanOrEqual((fromSec ?? 0) * 1_000)
        expect(query.toTs).toBeGreaterThanOrEqual(toSec * 1_000 + 999)
      }),
    )
  })

  it('sends a cursor only with the query that it came from', () => {
    fc.assert(
      fc.property(syncs, sync => {
        const { queries } = paged(sync)
        for (const [index, { cursor, ...query }] of queries.entries()) {
          if (cursor === undefined) continue
          const { cursor: _before, ...previous } = queries[index - 1]!
          expect(query).toEqual(previous)
        }
      }),
    )
  })
})
