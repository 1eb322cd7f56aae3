import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyUsage, type ReportedPeriod, recoverQuota } from '../../../src/core/quota/billing-period.ts'
import {
  countBilled,
  holdPending,
  newQuota,
  type QuotaState,
  resolvesAtMs,
  sessionsLeft,
} from '../../../src/core/quota/quota.ts'
import type { ReportedUsage } from '../../../src/core/quota/reported-usage.ts'

const usage = (reported: Partial<ReportedUsage>): ReportedUsage => ({
  periodKey: 'p1',
  billableUsedThisRequest: null,
  billableUsedThisPeriod: null,
  includedQuota: 1_000,
  billableRemainingThisPeriod: null,
  overageUsedThisPeriod: null,
  overagePacksCharged: null,
  exportRequestCount: null,
  ...reported,
})

/** Applies the answer to a probe. */
const probed = (period: QuotaState, reported: Partial<ReportedUsage>, sentAtMs: number) =>
  applyUsage(period, usage(reported), { sentAtMs, receivedAtMs: sentAtMs + 1, billed: 0, isProbe: true })

const report = (period: QuotaState, reported: Partial<ReportedUsage>, sentAtMs = 1, billed = 0) =>
  applyUsage(period, usage(reported), { sentAtMs, receivedAtMs: sentAtMs + 1, billed })

/** Applies the same usage report `times` times, like successive answers after a change of period. */
const reportOften = (period: QuotaState, reported: Partial<ReportedUsage>, times: number, sentAtMs = 1) =>
  Array.from({ length: times }).reduce<QuotaState>(
    (state, _, index) => report(state, reported, sentAtMs + index),
    period,
  )

const reportTwice = (period: QuotaState, reported: Partial<ReportedUsage>, sentAtMs = 1) =>
  reportOften(period, reported, 2, sentAtMs)

const loaded: Omit<ReportedPeriod, 'key' | 'usedSessions'> = {
  reports: 30,
  ownSessions: 0,
  certainSessions: 0,
  includedSessions: 500,
  overageSessions: 0,
  overagePacks: 0,
  sinceMs: 1,
  reportedAtMs: 5,
}
const reported = [
  { ...loaded, key: 'p1', usedSessions: 480 },
  { ...loaded, key: 'p2', usedSessions: 120, certainSessions: 90 },
]

describe('a billing period', () => {
  it('takes the highest usage, in any order of the answers', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { minLength: 1 }), counts => {
        const period = counts.reduce((state, used) => report(state, { billableUsedThisPeriod: used }), newQuota())
        expect(sessionsLeft(period, 0)).toBe(1_000 - Math.max(...counts))
      }),
    )
  })

  it('changes when another key outvotes it, and limits exports again while the old key is reported again', () => {
    const known = reportOften(newQuota(), { billableUsedThisPeriod: 900 }, 3)
    const twice = reportTwice(known, { periodKey: 'p2', billableUsedThisPeriod: 3 }, 4)
    expect(twice).toMatchObject({ key: 'p1', rivals: ['key p2'] })
    const thrice = report(twice, { periodKey: 'p2', billableUsedThisPeriod: 3 }, 6)
    expect(thrice).toMatchObject({ key: 'p2', usedSessions: 3, rivals: [] })
    const again = report(thrice, { billableUsedThisPeriod: 950 }, 7)
    expect(again).toMatchObject({ key: 'p2', usedSessions: 3 })
    expect(sessionsLeft(again, 0)).toBe(50)
    expect(sessionsLeft(reportTwice(again, { periodKey: 'p2' }, 8), 0)).toBe(997)
  })

  it('returns, with its counts and our own later bills, if the period that replaced it is outvoted', () => {
    const known = reportOften(newQuota(), { billableUsedThisPeriod: 900 }, 3)
    const stale = { periodKey: 'p0', billableUsedThisPeriod: 3, billableUsedThisRequest: 10 }
    const left = [4, 5, 6].reduce((state, sentAtMs) => report(state, stale, sentAtMs, 10), known)
    expect(left.key).toBe('p0')
    const returned = reportOften(left, { billableUsedThisPeriod: 900 }, 3, 7)
    expect(returned).toMatchObject({ key: 'p1', usedSessions: 930 })
  })

  it('is no longer limited by another one that two later pages, or one probe, contradict', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 300 })
    const doubted = report(first, { periodKey: 'p0', billableUsedThisPeriod: 990 }, 2)
    expect(sessionsLeft(doubted, 0)).toBe(10)
    expect(sessionsLeft(report(doubted, { billableUsedThisPeriod: 300 }, 3), 0)).toBe(10)
    expect(sessionsLeft(reportTwice(doubted, { billableUsedThisPeriod: 300 }, 3), 0)).toBe(700)
    expect(sessionsLeft(probed(doubted, { billableUsedThisPeriod: 300 }, 3), 0)).toBe(700)
    expect(sessionsLeft(reportTwice(doubted, { billableUsedThisPeriod: 300 }, 1), 0)).toBe(10)
  })

  it('decides the same in any order in which the answers of parallel leases are settled', () => {
    const one = [10, 20, 30, 40].map(sentAtMs => ({ sentAtMs, key: 'p0', used: 990 }))
    const two = [11, 21, 31, 41].flatMap(sentAtMs => [
      { sentAtMs, key: 'p1', used: 300 },
      { sentAtMs, key: 'p1', used: 300 },
    ])
    const known = reportOften(newQuota(), { billableUsedThisPeriod: 300 }, 3)
    const after = (answers: typeof one) =>
      answers.reduce(
        (state, { sentAtMs, key, used }) =>
          applyUsage(state, usage({ periodKey: key, billableUsedThisPeriod: used }), {
            sentAtMs,
            receivedAtMs: sentAtMs + 9,
            billed: 0,
          }),
        known,
      )
    for (const answers of [
      [...one, ...two],
      [...two, ...one],
    ])
      expect(after(answers)).toMatchObject({ key: 'p1', rivals: [] })
  })

  it('is recovered with the highest usage ever reported for it, and leaves it only for another that outvotes it', () => {
    const period = recoverQuota(reported)
    expect(period).toMatchObject({ key: 'p2', usedSessions: 120, includedSessions: 500, known: true })
    expect(sessionsLeft(period, 0)).toBe(380)
    expect(report(period, { billableUsedThisPeriod: 3, includedQuota: 500 }, 6).usedSessions).toBe(120)
    const stale = { periodKey: 'p3', billableUsedThisPeriod: 3, includedQuota: 500 }
    expect(reportTwice(period, stale, 6)).toMatchObject({ key: 'p2', rivals: ['key p3'] })
    expect(reportOften(period, stale, 3, 6)).toMatchObject({ key: 'p3' })
    expect(recoverQuota([])).toEqual(newQuota())
  })
})

describe('sessions without a report', () => {
  const reported = report(newQuota(), { billableUsedThisPeriod: 100 })

  it('are held back until the count of a later request', () => {
    const held = holdPending(reported, 50, 1_000)
    expect(sessionsLeft(held, 0)).toBe(850)
    expect(sessionsLeft(report(held, { billableUsedThisPeriod: 120 }, 999), 0)).toBe(830)
    expect(sessionsLeft(report(held, { billableUsedThisPeriod: 120 }, 1_000), 0)).toBe(880)
  })

  it('count as spent if that later answer has no count', () => {
    const held = holdPending(reported, 50, 1_000)
    const period = countBilled(held, { sentAtMs: 1_500, receivedAtMs: 1_600, billed: 0 })
    expect(period).toMatchObject({ usedSessions: 150, pending: null })
  })
})

describe('a used-up quota that one answer reports', () => {
  const known = reportOften(newQuota(), { billableUsedThisPeriod: 100 }, 3)
  const spent = report(known, { billableUsedThisPeriod: 1_000 }, 4)

  it('stops exports, and asks at once whether it was a mistake: one probe settles it', () => {
    expect(sessionsLeft(spent, 0)).toBe(0)
    expect(resolvesAtMs(spent)).toBe(0)
    expect(sessionsLeft(probed(spent, { billableUsedThisPeriod: 101 }, 5), 0)).toBe(899)
    const confirmed = probed(spent, { billableUsedThisPeriod: 1_000 }, 5)
    expect(confirmed).toMatchObject({ usedSessions: 1_000, rivals: [] })
    expect(resolvesAtMs(confirmed)).toBeNull()
  })

  it('is believed against concurrent answers, and doubted again only if probes agree on less than half', () => {
    const together = report(report(known, { billableUsedThisPeriod: 1_000 }, 4), { billableUsedThisPeriod: 101 }, 4)
    expect(sessionsLeft(together, 0)).toBe(0)
    const confirmed = probed(spent, { billableUsedThisPeriod: 1_000 }, 5)
    const cached = reportOften(confirmed, { billableUsedThisPeriod: 100 }, 5, 6)
    expect(sessionsLeft(cached, 0)).toBe(0)
    const once = probed(confirmed, { billableUsedThisPeriod: 102 }, 6)
    expect(sessionsLeft(once, 0)).toBe(0)
    expect(sessionsLeft(probed(once, { billableUsedThisPeriod: 102 }, 7), 0)).toBe(898)
  })
})

describe('numbers of one answer that contradict each other', () => {
  const left = (...reports: Partial<ReportedUsage>[]) =>
    sessionsLeft(
      reports.reduce<QuotaState>((state, one, index) => report(state, one, index + 1), newQuota()),
      0,
    )

  it.each<[string, Partial<ReportedUsage>]>([
    ['nothing remaining', { billableRemainingThisPeriod: 0, billableUsedThisPeriod: 3_000, includedQuota: null }],
    ['packs charged', { overagePacksCharged: 3, billableUsedThisPeriod: 300 }],
    ['overage used', { overageUsedThisPeriod: 1, billableUsedThisPeriod: 300, billableRemainingThisPeriod: 700 }],
    ['nothing included', { includedQuota: 0, billableUsedThisPeriod: 0 }],
  ])('leave no session: %s', (_, numbers) => {
    expect(left(numbers)).toBeLessThanOrEqual(0)
  })

  it('leave what the lowest one leaves', () => {
    expect(left({ billableUsedThisPeriod: 100, billableRemainingThisPeriod: 50 })).toBe(50)
    expect(left({ billableUsedThisPeriod: 600, billableRemainingThisPeriod: 900 })).toBe(400)
    expect(left({ billableUsedThisPeriod: 5, billableRemainingThisPeriod: 95, includedQuota: 1e11 })).toBe(95)
  })

  it('leave no more if a later answer lacks them, or includes an absurd number of sessions', () => {
    const known = { billableUsedThisPeriod: 990 }
    expect(left(known, { includedQuota: 1e11, billableUsedThisPeriod: 990 })).toBe(10)
    expect(left(known, { includedQuota: null, billableUsedThisPeriod: null })).toBe(10)
    expect(left(known, { includedQuota: 1e11, billableUsedThisPeriod: null, billableRemainingThisPeriod: 1e11 })).toBe(
      10,
    )
  })

  it('are believed to include more sessions if used and remaining ones add up to them', () => {
    const upgraded = { includedQuota: 5_000, billableUsedThisPeriod: 990, billableRemainingThisPeriod: 4_010 }
    expect(left({ billableUsedThisPeriod: 990 }, upgraded)).toBe(4_010)
  })
})

const unkeyed = usage({ periodKey: null, includedQuota: 100_000 })

describe('without period keys, another period', () => {
  const pages = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 2, maxLength: 30 })

  it('begins when three answers in a row report less than half, and none of our sessions is missed, however late reports are', () => {
    fc.assert(
      fc.property(fc.array(pages, { minLength: 1, maxLength: 5 }), fc.nat(5), (periods, lag) => {
        let period = newQuota()
        let nowMs = 0
        let counts = [0]
        for (const billedBy of periods) {
          const before = period.account.report?.usedSessions ?? 0
          const carried = counts.at(-1)!
          counts = [0]
          for (const [index, billed] of billedBy.entries()) {
            counts.push(counts.at(-1)! + billed)
            const reported = { ...unkeyed, billableUsedThisPeriod: counts.at(-1 - lag) ?? 0 }
            nowMs += 1_000
            period = applyUsage(period, reported, { sentAtMs: nowMs, receivedAtMs: nowMs + 100, billed })
            const used = counts.at(-1)!
            const held = 100_000 - sessionsLeft(period, 0)
            expect(held).toBeGreaterThanOrEqual(used)
            if (index > 2 && 2 * used < before) expect(period.usedSessions).toBeLessThanOrEqual(used + carried)
          }
        }
      }),
    )
  })
})

describe('a vendor whose every third answer names the previous period', () => {
  const reported = (periodKey: string, billableUsedThisPeriod: number) => ({
    ...unkeyed,
    periodKey,
    billableUsedThisPeriod,
  })
  const afterReports = (period: QuotaState, keys: readonly string[]) =>
    keys.reduce(
      (state, key, index) =>
        applyUsage(state, reported(key, key === 'old' ? 21 : 26), {
          sentAtMs: (period.reportedAtMs ?? 0) + 2 * index + 2,
          receivedAtMs: (period.reportedAtMs ?? 0) + 2 * index + 3,
          billed: 0,
        }),
      period,
    )
  const known = afterReports(newQuota(), ['old', 'old', 'old'])

  it('is followed into the new one, although its usage is higher and no three answers in a row name it', () => {
    expect(afterReports(known, ['new', 'new', 'old', 'new']).key).toBe('old')
    expect(afterReports(known, ['new', 'new', 'old', 'new', 'new']).key).toBe('new')
  })
})
