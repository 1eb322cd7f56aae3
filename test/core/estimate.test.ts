import { describe, expect, it } from 'vitest'
import {
  type Estimate,
  estimateIds,
  estimateStretch,
  headReserve,
  hoursText,
  layOut,
  projectedSessions,
  sessionsShown,
  totalOf,
} from '../../src/core/estimate.ts'
import { DAY } from '../../src/core/time.ts'

const density = { perDay: { low: 10, high: 30 }, sessionsPerConversation: 1.5 }
const tenDays = (10 * DAY) / 1_000

describe('the price of a page whose answer does not tell it', () => {
  it.each([
    [[], 0],
    [[{ ID: 'a' }, null, 'odd'], 3],
    [[{ sessions: [{}, {}, {}], sessionsNum: 2 }], 3],
    [[{ sessions: [], sessionsNum: 4 }, { sessionsNum: '2' }], 6],
    [[{ sessionsNum: -1 }, { sessionsNum: 1e9 }, { sessionsNum: Number.NaN }, { sessions: 'two' }], 4],
  ])('is one for each session that its records show, and one at least: %j', (records, sessions) => {
    expect(sessionsShown(records)).toBe(sessions)
  })
})

describe('the estimate of a stretch', () => {
  it('is a range from the quietest to the busiest day', () => {
    expect(estimateStretch(density, tenDays, 100)).toEqual({
      conversations: { low: 100, high: 300 },
      sessions: { low: 150, high: 450 },
      requests: { low: 1, high: 3 },
    })
  })

  it('asks at least once, even for a second', () => {
    expect(estimateStretch(density, 1, 100)?.requests).toEqual({ low: 1, high: 1 })
  })

  it('is unknown where nothing was seen, or where the stretch has no beginning', () => {
    expect(estimateStretch(null, 100, 100)).toBeNull()
    expect(estimateStretch(density, null, 100)).toBeNull()
  })
})

describe('the estimate of ids', () => {
  it('knows the requests, and at most how many conversations', () => {
    expect(estimateIds(density, 250, 100)).toEqual({
      conversations: { low: 0, high: 250 },
      sessions: { low: 0, high: 375 },
      requests: { low: 3, high: 3 },
    })
  })
})

describe('a total', () => {
  it('adds ranges up, and is nothing for nothing', () => {
    const one = estimateIds(null, 100, 100)
    expect(totalOf([one, one]).requests).toEqual({ low: 2, high: 2 })
    expect(totalOf([]).sessions).toEqual({ low: 0, high: 0 })
  })
})

describe('laying out', () => {
  const estimate: Estimate = {
    conversations: { low: 0, high: 0 },
    sessions: { low: 900, high: 2_600 },
    requests: { low: 80, high: 350 },
  }

  it('tells in how many hours and periods an estimate can be met', () => {
    const budget = { requestsPerHour: 100, requestsLeft: 100, sessionsLeft: 1_000, sessionsPerPeriod: 1_000 }
    expect(layOut(estimate, budget)).toEqual({ hours: { low: 0, high: 3 }, periods: { low: 1, high: 3 } })
  })
})

describe('the reserve for new conversations', () => {
  it('is what the busiest days would bring until a period of 31 days is over', () => {
    expect(projectedSessions([density, density], { ageMs: null, lengthMs: null })).toBe(2 * 30 * 1.5 * 31)
    expect(projectedSessions([density], { ageMs: 30 * DAY, lengthMs: null })).toBe(45)
  })

  it('goes by how long the periods before lasted, where that is known', () => {
    expect(projectedSessions([density], { ageMs: 2 * DAY, lengthMs: 7 * DAY })).toBe(5 * 45)
  })

  it('counts a day even where the period is older than it should be', () => {
    expect(projectedSessions([density], { ageMs: 90 * DAY, lengthMs: null })).toBe(45)
  })

  it('is at least the share that was asked for, and at most half of what is included', () => {
    expect(headReserve({ projected: 0, includedSessions: 1_000, floorShare: 0.1 })).toBe(100)
    expect(headReserve({ projected: 300, includedSessions: 1_000, floorShare: 0.1 })).toBe(300)
    expect(headReserve({ projected: 9_000, includedSessions: 1_000, floorShare: 0.1 })).toBe(500)
  })
})

describe('hours as text', () => {
  it.each([
    [{ low: 0, high: 0 }, 'now'],
    [{ low: 3, high: 3 }, 'about 3 h'],
    [{ low: 2, high: 5 }, '2 to 5 h'],
    [{ low: 0, high: 480 }, '0 to 480 h (20 days)'],
  ])('reads %o as %s', (range, text) => {
    expect(hoursText(range)).toBe(text)
  })
})
