import { describe, expect, it } from 'vitest'
import {
  type Estimate,
  estimateRange,
  headReserve,
  knownPerDay,
  layOut,
  NO_OUTLOOK,
  type Outlook,
  perDayOf,
  projectedSessions,
  sessionsShown,
  updateOutlook,
} from '../../../src/core/planning/estimate.ts'
import { newProgress, openWindow } from '../../../src/core/planning/windows.ts'
import { DAY } from '../../../src/core/time.ts'

const density = { perDay: { low: 10, high: 30 }, newPerDay: 20, sessionsPerConversation: 1.5, mostSessions: 2 }
const tenDays = (10 * DAY) / 1_000

describe('the price of a page whose answer does not report it', () => {
  it.each([
    [[], 0],
    [[{ ID: 'a' }, null, 'odd'], 3],
    [[{ sessions: [{}, {}, {}], sessionsNum: 2 }], 3],
    [[{ sessions: [], sessionsNum: 4 }, { sessionsNum: '2' }], 6],
    [[{ sessionsNum: -1 }, { sessionsNum: 1e9 }, { sessionsNum: Number.NaN }, { sessions: 'two' }], 4],
  ])('is one per session in its records, and at least one per record: %j', (records, sessions) => {
    expect(sessionsShown(records)).toBe(sessions)
  })
})

describe('the estimate of a time range', () => {
  it('is a range from the quietest to the busiest day', () => {
    expect(estimateRange(density, tenDays, 100)).toEqual({
      conversations: { low: 100, high: 300 },
      sessions: { low: 150, high: 450 },
      requests: { low: 1, high: 3 },
    })
  })

  it('is unknown without a density or a lower bound', () => {
    expect(estimateRange(null, 100, 100)).toBeNull()
    expect(estimateRange(density, null, 100)).toBeNull()
  })
})

describe('the schedule of an estimate', () => {
  const estimate: Estimate = {
    conversations: { low: 0, high: 0 },
    sessions: { low: 900, high: 2_600 },
    requests: { low: 80, high: 350 },
  }

  it('counts the hours and billing periods that it takes', () => {
    const budget = { requestsPerHour: 100, requestsLeft: 100, sessionsLeft: 1_000, sessionsPerPeriod: 1_000 }
    expect(layOut(estimate, budget)).toEqual({ hours: { low: 0, high: 3 }, periods: { low: 1, high: 3 } })
  })
})

describe('the reserve for new conversations', () => {
  const outlook = (given: Partial<Outlook> = {}): Outlook => ({ ...NO_OUTLOOK, ...given })

  it('covers their mean rate plus two standard deviations until the end of a period of 31 days', () => {
    const perDay = knownPerDay([density, density])
    expect(perDay).toBeCloseTo(60 * (1 + 2 / Math.sqrt(280)))
    expect(projectedSessions(outlook({ knownPerDay: 60 }), null)).toBe(60 * 31)
    expect(projectedSessions(outlook({ knownPerDay: 60 }), 30 * DAY)).toBe(60)
  })

  const learned = (agentId: string, perDay: number | null, conversations = 0) => ({ agentId, perDay, conversations })

  it('assumes that agents whose first page is being read are like those read before, and that all others need none', () => {
    const some = outlook({
      learned: [learned('a', 5, 200), learned('b', 5, 200), learned('c', null), learned('d', null)],
    })
    expect(projectedSessions(some, 30 * DAY)).toBe(11)
    expect(projectedSessions(some, 30 * DAY, 2)).toBe(22)
  })

  const reserve = (given: Partial<Outlook>, ageMs: number | null, share: number | null = null) =>
    headReserve({ outlook: outlook(given), begun: 0, ageMs, includedSessions: 1_000, share })

  it('is at least a tenth, which decreases over the period, and at most the included sessions', () => {
    expect(reserve({}, null)).toBe(100)
    expect(reserve({}, 15.5 * DAY)).toBe(50)
    expect(reserve({ knownPerDay: 20 }, null)).toBe(620)
    expect(reserve({ knownPerDay: 200 }, null)).toBe(1_000)
  })

  it('is the configured share, no matter what is expected; none if that is 0', () => {
    expect(reserve({ knownPerDay: 200 }, null, 0.2)).toBe(200)
    expect(reserve({ knownPerDay: 200 }, 15.5 * DAY, 0.2)).toBe(100)
    expect(reserve({ knownPerDay: 200 }, null, 0)).toBe(0)
  })

  const window = openWindow({ agentId: 'a', kind: 'tail', fromSec: null, toSec: 1_750_000_000, openedAtMs: 0 })

  it('learns the rate of an agent from its newest history, also that there is none, and not from older history', () => {
    const before = outlook({ learned: [learned('a', null), learned('b', null)] })
    const empty = updateOutlook(before, { ...newProgress(window), pages: 1, done: true })
    expect(empty.learned).toEqual([learned('a', 0), learned('b', null)])
    const read = { ...newProgress(window), pages: 1, billed: 25, returned: 20, lastTsMs: 1_750_000_000_000 - 10 * DAY }
    const busy = updateOutlook(before, read)
    expect(busy.learned[0]).toEqual(learned('a', 2.375, 20))
    expect(updateOutlook(busy, { ...read, pages: 9, billed: 900, lastTsMs: 1_700_000_000_000 })).toBe(busy)
    expect(updateOutlook(before, newProgress({ ...window, agentId: 'c' }))).toBe(before)
  })

  it('spreads a burst over at least a day', () => {
    const read = { ...newProgress(window), pages: 1, returned: 101, billed: 121.2 }
    expect(perDayOf({ ...read, lastTsMs: 1_749_999_000_000 })).toBeCloseTo(120)
    expect(perDayOf({ ...read, lastTsMs: 1_750_000_000_000 - 4 * DAY })).toBeCloseTo(30)
    expect(perDayOf({ ...read, returned: 1 })).toBe(0)
    expect(perDayOf(newProgress(window))).toBe(0)
  })
})
