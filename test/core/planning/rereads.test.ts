import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planRereads, type ReadRange, type RereadOptions, rereadsAhead } from '../../../src/core/planning/rereads.ts'
import { DAY, HOUR } from '../../../src/core/time.ts'

const NOW = Date.UTC(2026, 5, 20)
const NOW_SEC = NOW / 1_000

const rangeOf = (given: Partial<ReadRange> = {}): ReadRange => ({
  agentId: 'a',
  fromSec: NOW_SEC - 2 * 86_400,
  toSec: NOW_SEC - 2 * 86_400 + 899,
  readAtMs: NOW - 2 * DAY + 17 * 60_000,
  scanned: 10,
  returned: 8,
  knownFromEvents: 0,
  sessions: 9,
  ...given,
})

const planned = (ranges: ReadRange[], given: Partial<RereadOptions> = {}) =>
  planRereads({
    ranges,
    nowMs: NOW,
    horizonMs: 7 * DAY,
    quietMs: DAY,
    budgetSessions: 1_000,
    maxPage: 100,
    late: false,
    ...given,
  })

const boundsOf = (rereads: ReturnType<typeof planned>) =>
  rereads.map(({ progress: { window } }) => [window.agentId, window.fromSec, window.toSec, window.skipped])

describe('a range that may hide conversations', () => {
  it('is read again in a separate window, at the price of its first reading', () => {
    const [reread] = planned([rangeOf()])
    expect(reread!.progress.window).toMatchObject({ kind: 'reread', agentId: 'a', skipped: 2 })
    expect(reread!.estimate).toEqual({
      conversations: { low: 8, high: 10 },
      sessions: { low: 9, high: 11 },
      requests: { low: 1, high: 1 },
    })
  })

  it('is left alone for a quiet time that doubles with each reading', () => {
    expect(planned([rangeOf({ readAtMs: NOW - 23 * HOUR })])).toEqual([])
    const toSec = NOW_SEC - 5 * 86_400
    // A range that was read at an age of two days is due again at an age of four.
    const once = { fromSec: toSec - 899, toSec, readAtMs: (toSec + 1) * 1_000 + 2 * DAY }
    expect(planned([rangeOf(once)], { nowMs: once.readAtMs + 2 * DAY - HOUR })).toEqual([])
    expect(planned([rangeOf(once)], { nowMs: once.readAtMs + 2 * DAY })).toHaveLength(1)
  })

  it('is merged with its neighbours into one window, but only within an agent', () => {
    const from = NOW_SEC - 3 * 86_400
    const parts = [0, 900, 1_800, 4_000].map(at => rangeOf({ fromSec: from + at, toSec: from + at + 899 }))
    expect(boundsOf(planned([...parts, rangeOf({ agentId: 'b', fromSec: from + 900, toSec: from + 1_799 })]))).toEqual([
      ['a', from, from + 2_699, 6],
      ['a', from + 4_000, from + 4_899, 2],
      ['b', from + 900, from + 1_799, 2],
    ])
  })

  it('is ranked by hidden conversations per session if the budget is short, free ones first', () => {
    const at = (hour: number, given: Partial<ReadRange>) =>
      rangeOf({ fromSec: NOW_SEC - 172_800 + hour * 3_600, toSec: NOW_SEC - 172_800 + hour * 3_600 + 899, ...given })
    const expensive = at(0, { scanned: 100, returned: 88, sessions: 100 })
    const cheap = at(2, { scanned: 10, returned: 5, sessions: 5 })
    const free = at(4, { scanned: 3, returned: 0, sessions: 0 })
    expect(boundsOf(planned([expensive, cheap, free], { budgetSessions: 50 })).map(bounds => bounds[3])).toEqual([5, 3])
    expect(boundsOf(planned([expensive, cheap, free], { budgetSessions: 1 })).map(bounds => bounds[3])).toEqual([3])
    // A range without records ends at records of its neighbours, which are exported again.
    expect(planned([expensive, cheap, free], { budgetSessions: 0 })).toEqual([])
  })

  it('is left alone if it hides too little for its price, unless rows are known to arrive late', () => {
    const lowYield = rangeOf({ scanned: 100, returned: 95, sessions: 95 })
    expect(planned([lowYield])).toEqual([])
    expect(planned([lowYield], { late: true })).toHaveLength(1)
    // A range without missing records is always due, because the caller passes it in only as a sample or because of late rows.
    expect(planned([rangeOf({ scanned: 8, returned: 8 })])).toHaveLength(1)
  })

  it('never costs more than the budget at its previous price, and every window contains an entire due range', () => {
    const arbitrary = fc.record({
      agentId: fc.constantFrom('a', 'b'),
      start: fc.integer({ min: 0, max: 9 * 86_400 }),
      length: fc.integer({ min: 0, max: 7_200 }),
      age: fc.integer({ min: 0, max: 9 * 86_400 }),
      returned: fc.integer({ min: 0, max: 90 }),
      skipped: fc.integer({ min: 0, max: 10 }),
    })
    fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 30 }), fc.integer({ min: 0, max: 500 }), (given, budgetSessions) => {
        const ranges = given.map(({ agentId, start, length, age, returned, skipped }) =>
          rangeOf({
            agentId,
            fromSec: NOW_SEC - 10 * 86_400 + start,
            toSec: Math.min(NOW_SEC - 1, NOW_SEC - 10 * 86_400 + start + length),
            readAtMs: NOW - age * 1_000,
            scanned: returned + skipped,
            returned,
            sessions: returned,
          }),
        )
        const rereads = planned(ranges, { budgetSessions })
        expect(rereads.reduce((sum, { estimate }) => sum + estimate.sessions.low, 0)).toBeLessThanOrEqual(
          budgetSessions,
        )
        for (const agentId of ['a', 'b']) {
          const own = rereads.map(({ progress }) => progress.window).filter(window => window.agentId === agentId)
          for (const [index, window] of own.entries()) {
            expect(window.fromSec!).toBeLessThanOrEqual(window.toSec)
            if (index > 0) expect(window.fromSec!).toBeGreaterThan(own[index - 1]!.toSec + 1)
            expect(ranges.some(each => each.fromSec! >= window.fromSec! && each.toSec <= window.toSec)).toBe(true)
          }
        }
      }),
    )
  })
})

describe('what is read again', () => {
  const ahead = (range: ReadRange, given: Partial<RereadOptions> = {}) =>
    rereadsAhead({ ranges: [range], nowMs: NOW, horizonMs: 7 * DAY, quietMs: DAY, late: false, ...given })

  it('is exactly what planning reads at the time that it states, and nothing if planning never does', () => {
    const range = fc.record({
      age: fc.integer({ min: 0, max: 10 * DAY }),
      readAfter: fc.integer({ min: 0, max: 9 * DAY }),
      scanned: fc.integer({ min: 0, max: 100 }),
      sessions: fc.integer({ min: 0, max: 100 }),
    })
    fc.assert(
      fc.property(range, fc.boolean(), ({ age, readAfter, scanned, sessions }, late) => {
        const toSec = Math.floor((NOW - age) / 1_000)
        const readAtMs = Math.min(NOW, (toSec + 1) * 1_000 + readAfter)
        const one = rangeOf({
          fromSec: toSec - 899,
          toSec,
          readAtMs,
          scanned,
          returned: Math.floor(scanned / 2),
          sessions,
        })
        const { count, firstMs } = ahead(one, { late })
        const isPlanned = (nowMs: number) => planned([one], { nowMs, late }).length > 0
        if (count === 1) {
          expect(isPlanned(firstMs)).toBe(true)
          if (firstMs > NOW) expect(isPlanned(firstMs - 1)).toBe(false)
        } else for (let nowMs = NOW; nowMs < NOW + 8 * DAY; nowMs += 6 * HOUR) expect(isPlanned(nowMs)).toBe(false)
      }),
    )
  })
})
