import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyUsage } from '../../../src/core/quota/billing-period.ts'
import { type KeyReports, lengthOf, periodsOf } from '../../../src/core/quota/period-keys.ts'
import { newQuota } from '../../../src/core/quota/quota.ts'
import { DAY } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'
import { answersOf, keyedRuns } from './keyed-vendor.ts'

const UNREPORTED = {
  billableUsedThisRequest: null,
  includedQuota: null,
  billableRemainingThisPeriod: null,
  overageUsedThisPeriod: null,
  overagePacksCharged: null,
  exportRequestCount: null,
}

const reports = (day: number, reported: Partial<KeyReports>): KeyReports => ({
  key: `key-${day}`,
  sinceMs: day * DAY,
  untilMs: day * DAY,
  mostUsed: 0,
  carried: 0,
  behind: 0,
  ...reported,
})

describe('period keys', () => {
  it('begin a period when the count restarts, whatever our own answers bill under them and however late reports are', () => {
    fc.assert(
      fc.property(keyedRuns, run => {
        const { answers, sinceMs } = answersOf(run)
        let period = newQuota()
        const seen = new Map<string, number | null>()
        for (const { key, used, ...request } of answers) {
          period = applyUsage(period, { ...UNREPORTED, periodKey: key, billableUsedThisPeriod: used }, request)
          seen.set(key, period.sinceMs ?? null)
        }
        // A first answer with a new key is not trusted; once another confirms the key, the period began at the first one.
        const begun = [...seen.values()].map(since => Math.floor((since! - sinceMs[0]!) / DAY))
        expect(begun).toEqual([...seen].map((_, day) => day - (day % run.periodDays)))
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 25, deep: 600 }) },
    )
  })

  it('whose count continues name one period, of at most 31 days', () => {
    const keys = Array.from({ length: 40 }, (_, day) =>
      reports(day, { mostUsed: 10 + day, carried: day === 0 ? 0 : 9 + day }),
    )
    expect(periodsOf(keys).map(period => [period.sinceMs / DAY, period.keys.length])).toEqual([
      [0, 31],
      [31, 9],
    ])
  })

  it('that last more than a week are periods of their own, even if others used as much in the next one', () => {
    const months = [0, 31, 59].map(day => reports(day, { untilMs: (day + 20) * DAY, mostUsed: 10, carried: 500 }))
    expect(periodsOf(months)).toHaveLength(3)
    expect(lengthOf(periodsOf(months))).toBe(28 * DAY)
  })

  it('without usage are classified like the others', () => {
    const idle = [1, 2].map(day => reports(day, {}))
    expect(periodsOf([reports(0, { mostUsed: 5 }), ...idle])).toHaveLength(3)
    const parts = [3, 4].map(day => reports(day, { mostUsed: 5, carried: day === 3 ? 0 : 5 }))
    expect(periodsOf([...idle, ...parts])).toHaveLength(1)
  })
})
