// The billing period: how many billable sessions may still be bought within it. Usage only grows within a period, so
// the highest told is believed; a change of `periodKey` begins a new period, and one that was left never returns.
import type { UsageTold } from './told.ts'

export interface PeriodState {
  /** Null until the vendor has told a usage: nothing may be bought before that. */
  key: string | null
  known: boolean
  usedSessions: number
  includedSessions: number
  overageSessions: number
  overagePacks: number
  toldAtMs: number | null
  /** Sessions that requests may have billed whose answers were lost; the next usage asked for has them. */
  pending: { sessions: number; sinceMs: number } | null
  /** Keys of periods that were left, newest last. */
  past: readonly string[]
}

/** Included in a period where the vendor does not tell (section 8). */
export const INCLUDED_SESSIONS = 50_000

/** Sessions in a pack of overage (section 8). */
export const PACK_SESSIONS = 1_000

const PAST_KEPT = 24

export const newPeriod = (): PeriodState => ({
  key: null,
  known: false,
  usedSessions: 0,
  includedSessions: INCLUDED_SESSIONS,
  overageSessions: 0,
  overagePacks: 0,
  toldAtMs: null,
  pending: null,
  past: [],
})

function turned(period: PeriodState, key: string | null): PeriodState {
  const past = period.key === null ? period.past : [...period.past, period.key].slice(-PAST_KEPT)
  return { ...newPeriod(), includedSessions: period.includedSessions, key, past }
}

/** When an answer was asked for and came, ms, and the sessions that it billed itself. */
export interface Bought {
  sentAtMs: number
  receivedAtMs: number
  billed: number
}

/** Takes what an answer told. What an old period's answer tells is no news. */
export function tellPeriod(period: PeriodState, usage: UsageTold, bought: Bought): PeriodState {
  const key = usage.periodKey
  if (key !== null && period.past.includes(key)) return period
  const current = key !== null && period.key !== null && key !== period.key ? turned(period, key) : period
  const includedSessions = usage.includedQuota ?? current.includedSessions
  const remaining = usage.billableRemainingThisPeriod
  const told = usage.billableUsedThisPeriod ?? (remaining === null ? null : Math.max(0, includedSessions - remaining))
  const counted = told === null ? countSessions(current, bought) : cleared(current, bought.sentAtMs)
  return {
    ...counted,
    key: key ?? current.key,
    known: true,
    usedSessions: Math.max(counted.usedSessions, told ?? 0),
    includedSessions,
    overageSessions: Math.max(current.overageSessions, usage.overageUsedThisPeriod ?? 0),
    overagePacks: Math.max(current.overagePacks, usage.overagePacksCharged ?? 0),
    toldAtMs: Math.max(current.toldAtMs ?? 0, bought.sentAtMs),
  }
}

/** A count that was asked for after an answer was given up holds what that answer billed. */
const cleared = (period: PeriodState, sentAtMs: number): PeriodState =>
  period.pending && sentAtMs >= period.pending.sinceMs ? { ...period, pending: null } : period

/**
 * Counts sessions that an answer billed without telling the period's usage: a later one may. What was held back and is
 * not told by one that was asked for later, counts as spent.
 */
export function countSessions(period: PeriodState, { sentAtMs, receivedAtMs, billed }: Bought): PeriodState {
  const left = cleared(period, sentAtMs)
  const untold = left.pending === null ? (period.pending?.sessions ?? 0) : 0
  const counted = {
    ...left,
    known: true,
    usedSessions: period.usedSessions + untold,
    toldAtMs: Math.max(period.toldAtMs ?? 0, sentAtMs),
  }
  return billed > 0 ? holdPending(counted, billed, receivedAtMs) : counted
}

/** Sessions left before money is spent beyond what is allowed. May be negative. */
export const sessionsLeft = (period: PeriodState, allowedPacks: number): number =>
  period.includedSessions + allowedPacks * PACK_SESSIONS - period.usedSessions - (period.pending?.sessions ?? 0)

/** Holds back what lost answers may have billed; `sinceMs`: when they were given up. */
export const holdPending = (period: PeriodState, sessions: number, sinceMs: number): PeriodState => ({
  ...period,
  pending: {
    sessions: (period.pending?.sessions ?? 0) + sessions,
    sinceMs: Math.max(period.pending?.sinceMs ?? 0, sinceMs),
  },
})
