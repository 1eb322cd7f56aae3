import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyUsage } from '../../../src/core/quota/billing-period.ts'
import {
  countBilled,
  holdPending,
  newQuota,
  type QuotaState,
  resolvesAtMs,
  sessionsLeft,
} from '../../../src/core/quota/quota.ts'
import { recoverQuota } from '../../../src/core/quota/quota-recovery.ts'
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

const report = (period: QuotaState, reported: Partial<ReportedUsage>, sentAtMs = 1, billed = 0) =>
  applyUsage(period, usage(reported), { sentAtMs, receivedAtMs: sentAtMs + 1, billed })

/** Applies the same usage report twice, as successive answers after a change of period do. */
const reportTwice = (period: QuotaState, reported: Partial<ReportedUsage>, sentAtMs = 1) =>
  report(report(period, reported, sentAtMs), reported, sentAtMs + 1)

const confirmed = {
  unproved: false,
  certainSessions: 0,
  includedSessions: 500,
  overageSessions: 0,
  overagePacks: 0,
  sinceMs: 1,
  reportedAtMs: 5,
}
const proved = [
  { ...confirmed, key: 'p1', usedSessions: 480 },
  { ...confirmed, key: 'p2', usedSessions: 120, certainSessions: 90 },
]

describe('a billing period', () => {
  it('is unknown before anything is reported', () => {
    expect(newQuota()).toMatchObject({ known: false, key: null, includedSessions: 50_000 })
  })

  it('takes the highest usage, in any order of the answers', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { minLength: 1 }), counts => {
        const period = counts.reduce((state, used) => report(state, { billableUsedThisPeriod: used }), newQuota())
        expect(period.usedSessions).toBe(Math.max(...counts))
        expect(sessionsLeft(period, 0)).toBe(1_000 - Math.max(...counts))
      }),
    )
  })

  it('changes when another key is reported twice, and ignores later reports of the old key', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 900 })
    const second = reportTwice(first, { periodKey: 'p2', billableUsedThisPeriod: 3 }, 2)
    expect(second).toMatchObject({ key: 'p2', usedSessions: 3, pastKeys: ['p1'] })
    expect(report(second, { billableUsedThisPeriod: 950 }, 4)).toEqual({ ...second, reportedAtMs: 4 })
  })

  it('does not change for a key that is reported once, but counts the sessions of that answer', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 900 })
    const doubted = report(first, { periodKey: 'p0', billableUsedThisPeriod: 3 }, 2, 7)
    expect(doubted).toMatchObject({ key: 'p1', usedSessions: 900, reportedAtMs: 1 })
    expect(sessionsLeft(doubted, 0)).toBe(93)
    expect(report(doubted, { billableUsedThisPeriod: 907 }, 3)).toMatchObject({ key: 'p1', pending: null })
  })

  it('has no more sessions left than either of two periods that are reported alternately', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 300 })
    const turns = [850, 300, 870, 300].reduce((period, used, index) => {
      const periodKey = used === 300 ? 'p1' : 'p2'
      return report(period, { periodKey, billableUsedThisPeriod: used }, index + 2)
    }, first)
    expect(turns.key).toBe('p1')
    expect(sessionsLeft(turns, 0)).toBe(130)
  })

  it('counts the billed sessions of an answer that reports a past period', () => {
    const second = reportTwice(report(newQuota(), {}), { periodKey: 'p2', billableUsedThisPeriod: 10 }, 2)
    expect(sessionsLeft(report(second, { billableUsedThisPeriod: 500 }, 3, 20), 0)).toBe(970)
  })

  it('drops a candidate that was reported once, when two later requests in a row report the known period', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 300 })
    const doubted = report(first, { periodKey: 'p0', billableUsedThisPeriod: 990 }, 2)
    expect(sessionsLeft(doubted, 0)).toBe(10)
    const afterReports = [3, 4].reduce(
      (state, sentAtMs) => report(state, { billableUsedThisPeriod: 300 }, sentAtMs),
      doubted,
    )
    expect(afterReports.candidate).toBeNull()
    expect(sessionsLeft(afterReports, 0)).toBe(700)
    const overtaken = [1, 2].reduce(
      (state, sentAtMs) => report(state, { billableUsedThisPeriod: 300 }, sentAtMs),
      doubted,
    )
    expect(sessionsLeft(overtaken, 0)).toBe(10)
  })

  it('does not change for answers to concurrent requests', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 300 })
    const together = [2, 2, 2].reduce((state, sentAtMs) => report(state, { periodKey: 'p0' }, sentAtMs), first)
    expect(together.key).toBe('p1')
    expect(report(together, { periodKey: 'p0' }, 3).key).toBe('p0')
  })

  it('changes to one with no lower usage after three answers in a row: two of a past period may overtake others', () => {
    const first = reportTwice(newQuota(), { billableUsedThisPeriod: 300 })
    const reported = { periodKey: 'p0', billableUsedThisPeriod: 990 }
    const twice = reportTwice(first, reported, 3)
    expect(twice.key).toBe('p1')
    expect(report(twice, reported, 5).key).toBe('p0')
    const afterReports = [5, 6].reduce(
      (state, sentAtMs) => report(state, { billableUsedThisPeriod: 310 }, sentAtMs),
      twice,
    )
    expect(sessionsLeft(afterReports, 0)).toBe(690)
  })

  it('still asks at once after a restart has replayed old answers', () => {
    const spent = { periodKey: 'p0', billableUsedThisPeriod: 1_000 }
    const recovered = recoverQuota({ proved, newest: [{ key: 'p0', usedSessions: 1_000, reportedAtMs: 100 }] })
    const replayed = [10, 20, 30, 40].reduce((state, sentAtMs) => report(state, spent, sentAtMs), recovered)
    expect(resolvesAtMs(replayed)).toBe(0)
  })

  it('counts sessions in a new period from the first answer that reported it', () => {
    const first = report(newQuota(), { billableUsedThisPeriod: 900 })
    const late = report(
      report(first, { periodKey: 'p2', billableUsedThisPeriod: 0 }, 2, 40),
      { periodKey: 'p2', billableUsedThisPeriod: 0 },
      3,
      30,
    )
    expect(report(late, { periodKey: 'p2', billableUsedThisPeriod: 0 }, 4, 20)).toMatchObject({
      key: 'p2',
      usedSessions: 90,
    })
  })

  it('asks again at once if the very first answer reports it as exhausted', () => {
    const stale = report(newQuota(), { periodKey: 'p0', billableUsedThisPeriod: 1_000 })
    expect(resolvesAtMs(stale)).toBe(0)
    expect(sessionsLeft(reportTwice(stale, { billableUsedThisPeriod: 10 }, 2), 0)).toBe(990)
    expect(resolvesAtMs(report(stale, { periodKey: 'p0' }, 2))).toBeNull()
  })

  it('asks again at once whether another has begun, but not forever if the answers disagree', () => {
    const spent = report(newQuota(), { billableUsedThisPeriod: 300 })
    const doubted = report(spent, { periodKey: 'p2', billableUsedThisPeriod: 1_000 }, 2)
    expect(resolvesAtMs(doubted)).toBe(0)
    const again = [3, 5, 7].reduce((state, sentAtMs) => {
      const known = report(state, { billableUsedThisPeriod: 300 }, sentAtMs)
      return report(known, { periodKey: 'p2', billableUsedThisPeriod: 1_000 }, sentAtMs + 1)
    }, doubted)
    expect(resolvesAtMs(again)).toBeNull()
  })

  const answer = (key: string, reportedAtMs: number) => ({ key, usedSessions: 130, reportedAtMs })

  it('is recovered as the last confirmed one, with the highest usage ever reported for it', () => {
    const period = recoverQuota({ proved, newest: [answer('p3', 6), answer('p2', 5)] })
    expect(period).toMatchObject({ key: 'p2', usedSessions: 120, includedSessions: 500, pastKeys: ['p1'], known: true })
    expect(sessionsLeft(period, 0)).toBe(370)
    expect(report(period, { billableUsedThisPeriod: 3 }, 6).usedSessions).toBe(120)
    expect(report(period, { periodKey: 'p3', billableUsedThisPeriod: 3 }, 6)).toMatchObject({
      key: 'p3',
      pastKeys: ['p1', 'p2'],
    })
    expect(recoverQuota({ proved: [], newest: [] })).toEqual(newQuota())
  })

  it('is recovered without a candidate that the newest two answers do not report', () => {
    const once = recoverQuota({ proved, newest: [answer('p2', 7), answer('p0', 6)] })
    expect(once.candidate).toMatchObject({ key: 'p0', isNewest: false, contradictions: 1 })
    expect(report(once, { periodKey: 'p2' }, 8).candidate).toBeNull()
    expect(recoverQuota({ proved, newest: [answer('p2', 8), answer('p2', 7)] }).candidate).toBeNull()
  })

  it('is recovered with the sessions that our own answers billed if reports are late', () => {
    const late = [{ ...proved[1]!, certainSessions: 260 }]
    expect(recoverQuota({ proved: late, newest: [answer('p2', 5)] }).usedSessions).toBe(260)
  })

  it('never returns to a past key', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 20 }), keys => {
        const seen: (string | null)[] = []
        keys.reduce((state, periodKey, index) => {
          const next = report(state, { periodKey, billableUsedThisPeriod: index }, index)
          if (next.key !== seen.at(-1)) expect(seen).not.toContain(next.key)
          seen.push(next.key)
          return next
        }, newQuota())
      }),
    )
  })

  it('derives the usage from the remaining sessions if only those are reported', () => {
    expect(report(newQuota(), { billableRemainingThisPeriod: 400 }).usedSessions).toBe(600)
  })

  it('keeps the included sessions if they are not reported', () => {
    const period = report(newQuota(), { billableUsedThisPeriod: 1 })
    expect(report(period, { includedQuota: null, billableUsedThisPeriod: 2 }).includedSessions).toBe(1_000)
    expect(reportTwice(period, { periodKey: 'p2', includedQuota: null }).includedSessions).toBe(1_000)
  })

  it('has more sessions if packs are allowed', () => {
    const period = report(newQuota(), { billableUsedThisPeriod: 1_000 })
    expect(sessionsLeft(period, 0)).toBe(0)
    expect(sessionsLeft(period, 2)).toBe(2_000)
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

  it('add up, and wait for a count later than the last of them', () => {
    const held = holdPending(holdPending(reported, 50, 1_000), 30, 2_000)
    expect(held.pending).toEqual({ sessions: 80, sinceMs: 2_000 })
  })

  it('count as spent if that later answer has no count', () => {
    const held = holdPending(reported, 50, 1_000)
    const period = countBilled(held, { sentAtMs: 1_500, receivedAtMs: 1_600, billed: 0 })
    expect(period).toMatchObject({ usedSessions: 150, pending: null })
  })

  it('do not cross into the next period', () => {
    const held = holdPending(reported, 50, 1_000)
    expect(reportTwice(held, { periodKey: 'p2', billableUsedThisPeriod: 0 }, 2_000).pending).toBeNull()
  })
})

describe('a vendor that names another period in each answer', () => {
  it('is asked again at once only a few times', () => {
    let period = newQuota()
    const clear: boolean[] = []
    for (let answer = 1; answer <= 10; answer++) {
      const reported = usage({ periodKey: `period-${answer}`, billableUsedThisPeriod: 1_000 + answer })
      period = applyUsage(period, reported, { sentAtMs: answer * 1_000, receivedAtMs: answer * 1_000 + 10, billed: 0 })
      clear.push(resolvesAtMs(period) !== null)
    }
    expect(clear.slice(4)).not.toContain(true)
  })
})

const unkeyed = usage({ periodKey: null, includedQuota: 100_000 })

describe('without period keys, another period', () => {
  const pages = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 2, maxLength: 30 })

  it('begins when two answers in a row report less than half, and no session of ours is missed, however late reports are', () => {
    fc.assert(
      fc.property(fc.array(pages, { minLength: 1, maxLength: 5 }), fc.nat(5), (periods, lag) => {
        let period = newQuota()
        let nowMs = 0
        for (const billedBy of periods) {
          const before = period.account!.report?.usedSessions ?? 0
          const counts = [0]
          for (const [index, billed] of billedBy.entries()) {
            counts.push(counts.at(-1)! + billed)
            const reported = { ...unkeyed, billableUsedThisPeriod: counts.at(-1 - lag) ?? 0 }
            nowMs += 1_000
            period = applyUsage(period, reported, { sentAtMs: nowMs, receivedAtMs: nowMs + 100, billed })
            const used = counts.at(-1)!
            const held = 100_000 - sessionsLeft(period, 0)
            expect(held).toBeGreaterThanOrEqual(used)
            if (index > 0 && 2 * used < before) expect(period.usedSessions).toBe(used)
          }
        }
      }),
    )
  })

  it('does not begin after one answer, nor after concurrent ones', () => {
    const spent = applyUsage(
      newQuota(),
      { ...unkeyed, billableUsedThisPeriod: 900 },
      { sentAtMs: 1, receivedAtMs: 2, billed: 0 },
    )
    const low = { ...unkeyed, billableUsedThisPeriod: 3 }
    const doubted = [3, 3, 3].reduce(
      (state, sentAtMs) => applyUsage(state, low, { sentAtMs, receivedAtMs: sentAtMs + 1, billed: 0 }),
      spent,
    )
    expect(doubted).toMatchObject({ usedSessions: 900 })
    expect(resolvesAtMs(doubted)).toBe(0)
    const request = { sentAtMs: 5, receivedAtMs: 6, billed: 0 }
    expect(applyUsage(doubted, { ...unkeyed, billableUsedThisPeriod: 903 }, request)).toMatchObject({
      usedSessions: 903,
      drop: null,
    })
    expect(applyUsage(doubted, low, request)).toMatchObject({ usedSessions: 3, pending: null })
  })

  it('is dismissed if the next count contradicts it, and all billed sessions stay counted', () => {
    const reported = (usedSessions: number) => ({ ...unkeyed, billableUsedThisPeriod: usedSessions })
    const first = applyUsage(newQuota(), reported(40), { sentAtMs: 1, receivedAtMs: 2, billed: 40 })
    const late = applyUsage(first, reported(0), { sentAtMs: 3, receivedAtMs: 4, billed: 63 })
    const next = applyUsage(late, reported(40), { sentAtMs: 5, receivedAtMs: 6, billed: 10 })
    expect(next.account).toMatchObject({ own: 113 })
    expect(next.usedSessions).toBe(113)
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
          sentAtMs: 10 + 2 * index,
          receivedAtMs: 11 + 2 * index,
          billed: 0,
        }),
      period,
    )
  const known = afterReports(newQuota(), ['old', 'old'])

  it('is followed into the new one, although its usage is higher and no three answers in a row name it', () => {
    expect(afterReports(known, ['new', 'new', 'old', 'new']).key).toBe('old')
    expect(afterReports(known, ['new', 'new', 'old', 'new', 'new']).key).toBe('new')
  })

  it('is no longer asked if its answers never agree', () => {
    const disagreeing = afterReports(
      known,
      Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? 'new' : 'old')),
    )
    expect(disagreeing.key).toBe('old')
    expect(resolvesAtMs(disagreeing)).toBe(null)
  })
})
