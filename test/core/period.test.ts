import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  countSessions,
  holdPending,
  newPeriod,
  type PeriodState,
  sessionsLeft,
  tellPeriod,
} from '../../src/core/period.ts'
import type { UsageTold } from '../../src/core/told.ts'

const usage = (told: Partial<UsageTold>): UsageTold => ({
  periodKey: 'p1',
  billableUsedThisRequest: null,
  billableUsedThisPeriod: null,
  includedQuota: 1_000,
  billableRemainingThisPeriod: null,
  overageUsedThisPeriod: null,
  overagePacksCharged: null,
  exportRequestCount: null,
  ...told,
})

const tell = (period: PeriodState, told: Partial<UsageTold>, sentAtMs = 1, billed = 0) =>
  tellPeriod(period, usage(told), { sentAtMs, receivedAtMs: sentAtMs + 1, billed })

describe('a billing period', () => {
  it('knows nothing before something is told', () => {
    expect(newPeriod()).toMatchObject({ known: false, key: null, includedSessions: 50_000 })
  })

  it('believes the highest usage, in whatever order answers come', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { minLength: 1 }), counts => {
        const period = counts.reduce((state, used) => tell(state, { billableUsedThisPeriod: used }), newPeriod())
        expect(period.usedSessions).toBe(Math.max(...counts))
        expect(sessionsLeft(period, 0)).toBe(1_000 - Math.max(...counts))
      }),
    )
  })

  it('begins anew with another key, and what an old key tells is no news', () => {
    const first = tell(newPeriod(), { billableUsedThisPeriod: 900 })
    const second = tell(first, { periodKey: 'p2', billableUsedThisPeriod: 3 }, 2)
    expect(second).toMatchObject({ key: 'p2', usedSessions: 3, past: ['p1'] })
    expect(tell(second, { billableUsedThisPeriod: 950 }, 3)).toBe(second)
  })

  it('never returns to a key that was left', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 20 }), keys => {
        const seen: (string | null)[] = []
        keys.reduce((state, periodKey, index) => {
          const next = tell(state, { periodKey, billableUsedThisPeriod: index }, index)
          if (next.key !== seen.at(-1)) expect(seen).not.toContain(next.key)
          seen.push(next.key)
          return next
        }, newPeriod())
      }),
    )
  })

  it('reads the usage off what remains, where only that is told', () => {
    expect(tell(newPeriod(), { billableRemainingThisPeriod: 400 }).usedSessions).toBe(600)
  })

  it('keeps what is included where it is not told', () => {
    const period = tell(newPeriod(), { billableUsedThisPeriod: 1 })
    expect(tell(period, { includedQuota: null, billableUsedThisPeriod: 2 }).includedSessions).toBe(1_000)
    expect(tell(period, { periodKey: 'p2', includedQuota: null }).includedSessions).toBe(1_000)
  })

  it('has more sessions where packs are allowed', () => {
    const period = tell(newPeriod(), { billableUsedThisPeriod: 1_000 })
    expect(sessionsLeft(period, 0)).toBe(0)
    expect(sessionsLeft(period, 2)).toBe(2_000)
  })
})

describe('sessions that nobody has told of', () => {
  const told = tell(newPeriod(), { billableUsedThisPeriod: 100 })

  it('are held back until a count that was asked for later', () => {
    const held = holdPending(told, 50, 1_000)
    expect(sessionsLeft(held, 0)).toBe(850)
    expect(sessionsLeft(tell(held, { billableUsedThisPeriod: 120 }, 999), 0)).toBe(830)
    expect(sessionsLeft(tell(held, { billableUsedThisPeriod: 120 }, 1_000), 0)).toBe(880)
  })

  it('add up, and wait for a count later than the last of them', () => {
    const held = holdPending(holdPending(told, 50, 1_000), 30, 2_000)
    expect(held.pending).toEqual({ sessions: 80, sinceMs: 2_000 })
  })

  it('count as spent where the vendor does not tell even then', () => {
    const held = holdPending(told, 50, 1_000)
    const period = countSessions(held, { sentAtMs: 1_500, receivedAtMs: 1_600, billed: 0 })
    expect(period).toMatchObject({ usedSessions: 150, pending: null })
  })

  it('do not cross into the next period', () => {
    const held = holdPending(told, 50, 1_000)
    expect(tell(held, { periodKey: 'p2', billableUsedThisPeriod: 0 }, 2_000).pending).toBeNull()
  })
})
