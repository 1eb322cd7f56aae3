import { describe, expect, it } from 'vitest'
import {
  type Estimate,
  estimateIds,
  estimateRange,
  headReserve,
  knownPerDay,
  layOut,
  NO_OUTLOOK,
  type Outlook,
  perDayOf,
  projectedSessions,
  sessionsShown,
  totalOf,
} from '../../../src/core/planning/estimate.ts'
import { newProgress, openWindow } from '../../../src/core/planning/windows.ts'
import { DAY } from '../../../src/core/time.ts'

const density = { perDay: { low: 10, high: 30 }, newPerDay: 20, sessionsPerConversation: 1.5 }
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

  it('contains at least one request, even for a second', () => {
    expect(estimateRange(density, 1, 100)?.requests).toEqual({ low: 1, high: 1 })
  })

  it('is unknown without a density or a lower bound', () => {
    expect(estimateRange(null, 100, 100)).toBeNull()
    expect(estimateRange(density, null, 100)).toBeNull()
  })
})

describe('the estimate for ids', () => {
  it('knows the number of requests and an upper bound of the conversations', () => {
    expect(estimateIds(density, 250, 100)).toEqual({
      conversations: { low: 0, high: 250 },
      sessions: { low: 0, high: 375 },
      requests: { low: 3, high: 3 },
    })
  })
})

describe('a total', () => {
  it('adds up ranges, and is zero without estimates', () => {
    const one = estimateIds(null, 100, 100)
    expect(totalOf([one, one]).requests).toEqual({ low: 2, high: 2 })
    expect(totalOf([]).sessions).toEqual({ low: 0, high: 0 })
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

  it('uses the length of earlier periods if it is known', () => {
    expect(projectedSessions(outlook({ knownPerDay: 60, periodLengthMs: 7 * DAY }), 2 * DAY)).toBe(5 * 60)
  })

  it('covers at least one more day, even in an overdue period', () => {
    expect(projectedSessions(outlook({ knownPerDay: 60 }), 90 * DAY)).toBe(60)
  })

  it('assumes that agents without begun history are like the others', () => {
    const some = outlook({ unknownAgents: 4, seenAgents: 2, seenPerDay: 10, seenConversations: 400 })
    expect(projectedSessions(some, 30 * DAY)).toBe(22)
  })

  const reserve = (given: Partial<Outlook>, ageMs: number | null, leftSessions = 1_000) =>
    headReserve({ outlook: outlook(given), ageMs, includedSessions: 1_000, leftSessions, floorShare: 0.1 })

  it('is at least the configured share, which decreases over the period, and at most the included sessions', () => {
    expect(reserve({}, null)).toBe(100)
    expect(reserve({}, 15.5 * DAY)).toBe(50)
    expect(reserve({ knownPerDay: 20 }, null)).toBe(620)
    expect(reserve({ knownPerDay: 200 }, null)).toBe(1_000)
  })

  it('is nearly everything left while no agent is known, and half of it while some agents are unknown', () => {
    expect(reserve({ unknownAgents: 3 }, null, 800)).toBe(760)
    expect(reserve({ unknownAgents: 3, seenAgents: 1 }, null, 800)).toBe(400)
    expect(reserve({ unknownAgents: 3, seenAgents: 3 }, null, 800)).toBe(100)
    expect(reserve({ unknownAgents: 3 }, null, 200)).toBe(160)
  })

  it('spreads a burst over at least a day', () => {
    const window = openWindow({ agentId: 'a', kind: 'tail', fromSec: null, toSec: 1_750_000_000, openedAtMs: 0 })
    const read = { ...newProgress(window), pages: 1, billed: 120 }
    expect(perDayOf({ ...read, lastTsMs: 1_749_999_000_000 })).toBe(120)
    expect(perDayOf({ ...read, lastTsMs: 1_750_000_000_000 - 4 * DAY })).toBe(30)
    expect(perDayOf(newProgress(window))).toBe(0)
  })
})
