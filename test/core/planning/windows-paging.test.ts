import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coverAll, gaps } from '../../../src/core/planning/coverage.ts'
import { idPrints } from '../../../src/core/planning/no-progress.ts'
import { advance, coveredBy } from '../../../src/core/planning/window-progress.ts'
import { nextRequest, restarted, type WindowQuery } from '../../../src/core/planning/window-query.ts'
import {
  newProgress,
  openWindow,
  type PageFacts,
  restartPoint,
  type Window,
  type WindowProgress,
} from '../../../src/core/planning/windows.ts'

interface Stored {
  id: number
  /** ms; 0: the record has no time. */
  ts: number
  /** `ts` as the record contains it: truncated to seconds in some records. */
  recordTs: number
}

/** The export of the API document's section 4.12, over a list: sorted, bounded, with cursors valid only for their query. */
function exportPage(stored: readonly Stored[], query: WindowQuery): { data: Stored[]; cursor: string | null } {
  const direction = query.sort === 'asc' ? 1 : -1
  const rows = stored
    .filter(({ ts }) => ts >= (query.fromTs ?? 0) && ts <= query.toTs!)
    .sort((a, b) => direction * (a.ts - b.ts || a.id - b.id))
  const scope = `${query.sort} ${query.fromTs} ${query.toTs}`
  if (query.cursor !== undefined && !query.cursor.startsWith(`${scope} `)) throw new Error('a cursor of another query')
  const start = query.cursor === undefined ? 0 : Number(query.cursor.slice(scope.length + 1))
  const end = start + query.limit!
  return { data: rows.slice(start, end), cursor: end < rows.length ? `${scope} ${end}` : null }
}

type Disturbance = 'none' | 'cursor-refused' | 'cursor-missing' | 'killed' | 'shuffled'

/** Reads a window page by page, to its end or `until` pages; a killed runner continues from its landed pages. */
function pageThrough(
  stored: readonly Stored[],
  window: Window,
  plan: { limit: number; disturbance: Disturbance }[],
  from: WindowProgress = newProgress(window),
  until = 500,
) {
  const landed: PageFacts[] = []
  const ids: number[] = []
  const pages: { facts: PageFacts; ids: number[] }[] = []
  let progress = from
  for (let page = 0; !progress.done && page < until; page++) {
    if (page > 498) throw new Error('does not end')
    const { limit, disturbance } = plan[page] ?? { limit: plan.at(-1)?.limit ?? 7, disturbance: 'none' }
    if (disturbance === 'cursor-refused' && progress.cursor !== null) progress = restarted(progress)
    const next = nextRequest(progress, limit)
    const { data: sorted, cursor } = exportPage(stored, next.query)
    const data = disturbance === 'shuffled' ? sorted.toSorted((a, b) => (a.id % 5) - (b.id % 5)) : sorted
    const times = data.flatMap(({ recordTs }) => (recordTs > 0 ? recordTs : []))
    const facts: PageFacts = {
      window,
      generation: next.progress.generation,
      sequence: next.progress.sequence,
      limit,
      atMs: 0,
      cursorIn: next.query.cursor ?? null,
      cursorOut: disturbance === 'cursor-missing' ? null : cursor,
      hasMore: cursor !== null,
      returned: data.length,
      scanned: null,
      billed: null,
      firstTsMs: times[0] ?? null,
      lastTsMs: restartPoint(window, times),
      missing: [],
      beginMs: next.progress.restartMs,
      ...(data.length > 0 && { ids: idPrints(data.map(({ id }) => ({ ID: id }))) }),
      ...(times.length < data.length && { undated: data.length - times.length }),
    }
    landed.push(facts)
    pages.push({ facts, ids: data.map(({ id }) => id) })
    ids.push(...data.map(({ id }) => id))
    progress = disturbance === 'killed' ? landed.reduce(advance, newProgress(window)) : advance(next.progress, facts)
  }
  return { ids, landed, pages, progress }
}

const BASE = 1_750_000_000
const records = fc
  .array(
    fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 60_000 }) }, { weight: 1, arbitrary: fc.constant(-1) }),
    {
      maxLength: 60,
    },
  )
  .map(offsets =>
    offsets.map((offset, id): Stored => {
      const ts = offset < 0 ? 0 : BASE * 1_000 + offset
      return { id, ts, recordTs: id % 3 === 0 ? Math.floor(ts / 1_000) * 1_000 : ts }
    }),
  )

const window = fc
  .record({
    kind: fc.constantFrom('head', 'tail', 'full' as const),
    from: fc.option(fc.nat(30), { nil: null }),
    length: fc.nat(60),
  })
  .map(({ kind, from, length }) =>
    openWindow({
      agentId: 'a',
      kind,
      fromSec: from === null ? null : BASE + from,
      toSec: BASE + (from ?? 0) + length,
      openedAtMs: BASE * 1_000,
    }),
  )

const inside = ({ fromSec, toSec }: Window, { ts }: Stored) => ts >= (fromSec ?? 0) * 1_000 && ts <= toSec * 1_000 + 999

const NO_FACTS = {
  generation: 1,
  atMs: 0,
  cursorIn: null,
  cursorOut: null,
  hasMore: false,
  returned: 0,
  scanned: null,
  billed: null,
  lastTsMs: null,
  missing: [],
}

describe('paging through a window', () => {
  it('returns each conversation of the window exactly once if nothing disturbs it', () => {
    fc.assert(
      fc.property(records, window, fc.integer({ min: 1, max: 20 }), (stored, one, limit) => {
        const { ids, progress } = pageThrough(stored, one, [{ limit, disturbance: 'none' }])
        const wanted = stored.filter(record => inside(one, record)).map(({ id }) => id)
        expect(ids.toSorted((a, b) => a - b)).toEqual(wanted)
        expect(progress).toMatchObject({ returned: wanted.length, scanned: wanted.length })
        // A full last page is verified by a request for what lies behind it.
        expect(progress.generation).toBeLessThanOrEqual(2)
      }),
    )
  })

  it('omits no conversation and adds none of another window when page sizes change, pages are shuffled and cursors are refused or missing', () => {
    const disturbed = fc.record({
      limit: fc.constantFrom(3, 8, 20),
      disturbance: fc.constantFrom<Disturbance>('none', 'cursor-refused', 'cursor-missing', 'killed', 'shuffled'),
    })
    fc.assert(
      fc.property(records, window, fc.array(disturbed, { maxLength: 12 }), (stored, one, plan) => {
        const { ids } = pageThrough(stored, one, plan)
        expect([...new Set(ids)].sort((a, b) => a - b)).toEqual(
          stored.filter(record => inside(one, record)).map(({ id }) => id),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('has the progress that results from folding its landed pages, in any process', () => {
    fc.assert(
      fc.property(records, window, fc.array(fc.constantFrom(3, 8), { maxLength: 8 }), (stored, one, limits) => {
        const plan = limits.map(limit => ({ limit, disturbance: 'none' as const }))
        const { landed, progress } = pageThrough(stored, one, plan)
        const read = JSON.parse(JSON.stringify(landed)) as PageFacts[]
        expect(read.reduce(advance, newProgress(one))).toEqual(progress)
      }),
    )
  })

  it('uses no generation and sequence twice', () => {
    fc.assert(
      fc.property(records, window, fc.array(fc.constantFrom(3, 8), { maxLength: 8 }), (stored, one, limits) => {
        const plan = limits.map(limit => ({ limit, disturbance: 'none' as const }))
        const places = pageThrough(stored, one, plan).landed.map(page => `${page.generation}.${page.sequence}`)
        expect(new Set(places).size).toBe(places.length)
      }),
    )
  })
})

describe('landed pages that are missing', () => {
  const disturbed = fc.record({
    limit: fc.constantFrom(3, 8, 20),
    disturbance: fc.constantFrom<Disturbance>('none', 'cursor-refused', 'cursor-missing', 'shuffled'),
  })
  const scene = fc.record({
    stored: records,
    one: window,
    plan: fc.array(disturbed, { maxLength: 12 }),
    until: fc.constantFrom(3, 6, 500),
    kept: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
    limit: fc.constantFrom(3, 8, 20),
  })

  /** Resumes a window that has lost some pages: reads each gap in a window of its own, then the rest of the window. */
  function resumeFrom({ stored, one, plan, until, kept, limit }: Parameters<Parameters<typeof scene.map>[0]>[0]) {
    const { pages } = pageThrough(stored, one, plan, newProgress(one), until)
    const present = pages.filter((_, index) => kept[index % kept.length])
    const known = present.reduce((progress, { facts }) => advance(progress, facts), newProgress(one))
    const rest = [{ limit, disturbance: 'none' as const }]
    const windowRange = { from: one.fromSec ?? 0, to: one.toSec }
    // Without any landed page there is no gap: the window is read from its beginning.
    const holes = present.length === 0 ? [] : gaps(coverAll(coveredBy(known)), windowRange)
    const reread = holes.flatMap(({ from, to }) => {
      const hole = openWindow({
        agentId: 'a',
        kind: 'tail',
        fromSec: from <= 0 ? null : from,
        toSec: to,
        openedAtMs: 1,
      })
      return pageThrough(stored, hole, rest).ids
    })
    const continued = pageThrough(stored, one, rest, known).ids
    return { present, reread, continued, lost: pages.filter(page => !present.includes(page)), holes }
  }

  it('lose no conversation: the ranges that they may have covered are read again', () => {
    fc.assert(
      fc.property(scene, given => {
        const { present, reread, continued } = resumeFrom(given)
        const ids = [...present.flatMap(page => page.ids), ...reread, ...continued]
        expect([...new Set(ids)].sort((a, b) => a - b)).toEqual(
          given.stored.filter(record => inside(given.one, record)).map(({ id }) => id),
        )
      }),
      { numRuns: 1_000, seed: 20261120 },
    )
  })

  it('are all that is read again, except conversations that share a second with their neighbours', () => {
    const orderly = scene.map(given => ({
      ...given,
      until: 500 as const,
      // Each conversation has a time, and no two are in the same second.
      stored: given.stored.map(({ id }): Stored => ({ id, ts: (BASE + id) * 1_000, recordTs: (BASE + id) * 1_000 })),
      plan: given.plan.filter(({ disturbance }) => disturbance !== 'shuffled'),
    }))
    fc.assert(
      fc.property(orderly, given => {
        const { present, reread, continued, lost, holes } = resumeFrom(given)
        if (present.length === 0) return
        const held = new Set(present.flatMap(page => page.ids))
        const twice = reread.filter(id => held.has(id))
        expect(twice.length).toBeLessThanOrEqual(2 * holes.length)
        const gone = lost.flatMap(page => page.ids).length
        expect(continued.length + reread.length).toBeLessThanOrEqual(gone + 2 * holes.length + 1)
      }),
      { numRuns: 1_000, seed: 20261120 },
    )
  })

  it('never count as covered, even if the vendor sorts in the opposite order', () => {
    const given = fc.record({
      kind: fc.constantFrom('head', 'tail' as const),
      seconds: fc.uniqueArray(fc.nat(99), { minLength: 4, maxLength: 60 }),
      limit: fc.integer({ min: 2, max: 9 }),
      kept: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
    })
    fc.assert(
      fc.property(given, ({ kind, seconds, limit, kept }) => {
        const one = openWindow({ agentId: 'a', kind, fromSec: BASE, toSec: BASE + 99, openedAtMs: BASE * 1_000 })
        // Only full pages: the sort order of a page whose records all lie in one second cannot be determined.
        const some = seconds.slice(0, seconds.length - (seconds.length % limit))
        const order = some.toSorted((a, b) => (kind === 'head' ? b - a : a - b))
        const pages = Array.from({ length: Math.ceil(order.length / limit) + 1 }, (_, at) => {
          const times = order.slice(at * limit, (at + 1) * limit).map(second => (BASE + second) * 1_000)
          const [cursorIn, cursorOut] = [at === 0 ? null : `${at}`, times.length > 0 ? `${at + 1}` : null]
          const bounds = { firstTsMs: times[0] ?? null, lastTsMs: restartPoint(one, times), beginMs: null }
          // The last page is empty because it skipped a conversation: an empty one that skipped nothing is verified.
          const facts = {
            ...NO_FACTS,
            ...bounds,
            window: one,
            sequence: at + 1,
            limit,
            cursorIn,
            cursorOut,
            scanned: 1,
          }
          return { facts: { ...facts, hasMore: cursorOut !== null }, times }
        })
        const isPresent = (at: number) => at === pages.length - 1 || kept[at % kept.length]!
        const known = pages
          .filter((_, at) => isPresent(at))
          .reduce((all, { facts }) => advance(all, facts), newProgress(one))
        const covered = coverAll(coveredBy(known))
        const lost = pages.flatMap(({ times }, at) => (isPresent(at) ? [] : times))
        expect(known.done).toBe(true)
        for (const ms of lost) expect(gaps(covered, { from: ms / 1_000, to: ms / 1_000 })).toHaveLength(1)
      }),
      { numRuns: 300, seed: 20261120 },
    )
  })

  it('of a selection are requested again, and nothing else is', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 50 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        fc.array(fc.boolean(), { minLength: 1 }),
        (ids, limits, kept) => {
          const one = openWindow({ agentId: 'a', kind: 'selected', fromSec: null, toSec: 0, openedAtMs: BASE, ids })
          const ask = (from: WindowProgress, sequence: number) => {
            const pages: { facts: PageFacts; ids: string[] }[] = []
            let progress = from
            for (let page = sequence; !progress.done; page++) {
              const asked = nextRequest(progress, limits[page % limits.length]!).query.convoIds!
              const facts = { ...NO_FACTS, window: progress.window, sequence: page, limit: asked.length }
              pages.push({ facts: { ...facts, askedBefore: progress.asked }, ids: asked })
              progress = advance(progress, pages.at(-1)!.facts)
            }
            return pages
          }
          const pages = ask(newProgress(one), 1)
          const present = pages.filter((_, index) => kept[index % kept.length])
          const known = present.reduce((progress, { facts }) => advance(progress, facts), newProgress(one))
          const reread = ask(known, known.sequence).flatMap(page => page.ids)
          expect([...present.flatMap(page => page.ids), ...reread].sort()).toEqual([...ids].sort())
        },
      ),
      { numRuns: 300, seed: 20261120 },
    )
  })
})

describe('a selection', () => {
  const selection = (ids: string[]): WindowProgress =>
    newProgress(openWindow({ agentId: 'a', kind: 'selected', fromSec: null, toSec: 0, openedAtMs: BASE, ids }))

  it('requests every id once, in portions of any size', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 50 }),
        fc.array(fc.integer({ min: 1, max: 9 })),
        (ids, limits) => {
          let progress = selection(ids)
          const asked: string[] = []
          for (let page = 0; !progress.done; page++) {
            const { query } = nextRequest(progress, limits[page] ?? 10)
            asked.push(...query.convoIds!)
            progress = advance(progress, {
              ...NO_FACTS,
              window: progress.window,
              sequence: page + 1,
              limit: query.convoIds!.length,
            })
          }
          expect(asked).toEqual(ids)
        },
      ),
    )
  })
})
