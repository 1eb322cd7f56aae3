// The billing period: how many billable sessions may still be bought within it. Usage only grows within a period, so
// the highest told is believed; a change of `periodKey` begins a new period, and one that was left never returns.
//
// An answer may tell of an old period by mistake, and one that nobody here has seen cannot be told from a new one. So
// another key is believed when two answers in a row tell it; until then no more may be bought than either period leaves.
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
  /** Another period that was told, and not twice in a row; `last`: by the last answer. */
  rumour: { key: string; usedSessions: number; last: boolean } | null
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
  rumour: null,
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

/** What an answer billed that tells of another period than the one that is known. */
function billedElsewhere(period: PeriodState, bought: Bought): PeriodState {
  return bought.billed > 0 ? holdPending(period, bought.billed, bought.receivedAtMs) : period
}

const toldAt = (period: PeriodState, { sentAtMs }: Bought): number => Math.max(period.toldAtMs ?? 0, sentAtMs)

function usedTold(usage: UsageTold, includedSessions: number): number | null {
  const remaining = usage.billableRemainingThisPeriod
  return usage.billableUsedThisPeriod ?? (remaining === null ? null : Math.max(0, includedSessions - remaining))
}

const unconfirmed = (period: PeriodState): PeriodState =>
  period.rumour === null ? period : { ...period, rumour: { ...period.rumour, last: false } }

/** Another period, told for the first time, or not by the answer before. */
function doubted(
  period: PeriodState,
  key: string,
  { usage, bought }: { usage: UsageTold; bought: Bought },
): PeriodState {
  const known = period.rumour?.key === key ? period.rumour.usedSessions : 0
  const usedSessions = Math.max(known, usedTold(usage, usage.includedQuota ?? period.includedSessions) ?? 0)
  // The first time it may be asked again at once.
  const toldAtMs = period.rumour === null ? period.toldAtMs : toldAt(period, bought)
  return { ...billedElsewhere(period, bought), rumour: { key, usedSessions, last: true }, toldAtMs }
}

/** Takes what an answer told. What an old period's answer tells is no news; another key is, when it is told twice in a row. */
export function tellPeriod(period: PeriodState, usage: UsageTold, bought: Bought): PeriodState {
  const key = usage.periodKey
  const changes = key !== null && period.key !== null && key !== period.key
  if (changes && period.past.includes(key))
    return { ...billedElsewhere(period, bought), toldAtMs: toldAt(period, bought) }
  if (changes && !(period.rumour?.key === key && period.rumour.last)) return doubted(period, key, { usage, bought })
  const current = changes ? turned(period, key) : unconfirmed(period)
  const includedSessions = usage.includedQuota ?? current.includedSessions
  const told = usedTold(usage, includedSessions)
  const counted = told === null ? countSessions(current, bought) : cleared(current, bought.sentAtMs)
  return {
    ...counted,
    key: key ?? current.key,
    known: true,
    usedSessions: Math.max(counted.usedSessions, told ?? 0),
    includedSessions,
    overageSessions: Math.max(current.overageSessions, usage.overageUsedThisPeriod ?? 0),
    overagePacks: Math.max(current.overagePacks, usage.overagePacksCharged ?? 0),
    toldAtMs: toldAt(current, bought),
  }
}

/** What has been told of a period so far. */
export interface PeriodTold {
  key: string
  /** How many of the newest answers told it. */
  recent: number
  usedSessions: number
  includedSessions: number | null
  overageSessions: number
  overagePacks: number
  toldAtMs: number
}

/**
 * The period as what was told of all of them makes it known; by when they were first told. The running one is the one that
 * most of the newest answers told: what was told before it was left, what was told after it may be the next.
 */
export function recallPeriod(told: readonly PeriodTold[]): PeriodState {
  const running = told.reduce<PeriodTold | null>((most, one) => (most && most.recent > one.recent ? most : one), null)
  if (running === null) return newPeriod()
  const { key, usedSessions, overageSessions, overagePacks, toldAtMs } = running
  const place = told.indexOf(running)
  const next = told.slice(place + 1).reduce((most, one) => Math.max(most, one.usedSessions), 0)
  const [latest] = told.slice(-1)
  return {
    ...newPeriod(),
    key,
    known: true,
    usedSessions,
    includedSessions: running.includedSessions ?? INCLUDED_SESSIONS,
    overageSessions,
    overagePacks,
    toldAtMs,
    rumour: latest === running ? null : { key: latest!.key, usedSessions: next, last: false },
    past: told
      .slice(0, place)
      .map(period => period.key)
      .slice(-PAST_KEPT),
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
  period.includedSessions +
  allowedPacks * PACK_SESSIONS -
  Math.max(period.usedSessions, period.rumour?.usedSessions ?? 0) -
  (period.pending?.sessions ?? 0)

/** Holds back what lost answers may have billed; `sinceMs`: when they were given up. */
export const holdPending = (period: PeriodState, sessions: number, sinceMs: number): PeriodState => ({
  ...period,
  pending: {
    sessions: (period.pending?.sessions ?? 0) + sessions,
    sinceMs: Math.max(period.pending?.sinceMs ?? 0, sinceMs),
  },
})
