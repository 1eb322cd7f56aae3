// The quota: how many billable sessions may still be exported in the billing period. Usage only grows within a period, so the highest
// report is believed; what our own answers billed is added where a report lacks it (usage-account.ts). Which period an answer reports
// is decided in billing-period.ts.
import type { ReportedUsage } from './reported-usage.ts'
import {
  applyReport,
  certainSessions,
  completeFromMs,
  isComplete,
  newAccount,
  possibleSessions,
  type UsageAccount,
} from './usage-account.ts'

export interface QuotaState {
  /** Opaque key of the period; null until the vendor has reported one. */
  key: string | null
  /** Only one answer has reported this key: nothing is proved. */
  unproved?: boolean
  /** False until a usage was reported: before that nothing may be billed. */
  known: boolean
  /** Sessions that are certainly used. */
  usedSessions: number
  includedSessions: number
  overageSessions: number
  overagePacks: number
  reportedAtMs: number | null
  /** When the period was first reported, ms; null: not known. */
  sinceMs?: number | null
  account?: UsageAccount
  /** Sessions that lost answers may have billed, until a usage report that was requested later. */
  pending: { sessions: number; sinceMs: number } | null
  candidate: CandidatePeriod | null
  /** Keys of earlier periods, newest last. */
  pastKeys: readonly string[]
  /** Without keys: the last answer reported less than half of the usage before it. */
  drop?: { sinceMs: number; account: UsageAccount } | null
  /** Usage under the previous key, while the first reports may show that both keys name one period. */
  previous?: { usedSessions: number; sinceMs: number | null; reports: number } | null
}

/** Another period that was reported and is not proved yet. */
export interface CandidatePeriod {
  key: string
  usedSessions: number
  /** The newest answer reported it. */
  isNewest: boolean
  /** Answers that reported any other period. */
  reports?: number
  /** Consecutive ones that reported this one, each requested after the previous one arrived, less those that reported the known period. */
  consecutive?: number
  /** When the first of them arrived, ms: a later one is requested after it. */
  sinceMs?: number
  /** Consecutive later answers that reported the known period. */
  contradictions?: number
  account?: UsageAccount
}

/** Times of an answer, ms, and the sessions that it billed. */
export interface BilledAnswer {
  sentAtMs: number
  receivedAtMs: number
  billed: number
  /** False where the answer did not report what it billed: a guess, which the next usage report replaces. */
  certain?: boolean
  /** Sessions that other requests of ours may have billed meanwhile, whose answers are not known yet. */
  unseen?: number
}

/** Included in a period where the vendor does not report it (section 8). */
export const INCLUDED_SESSIONS = 50_000

/** Sessions in a pack of overage (section 8). */
export const PACK_SESSIONS = 1_000

/** Answers that report another period after which the vendor is no longer asked at once: it may report one without end. */
const MAX_EARLY_PROBES = 3

/** After so many unproved reports of other periods a run stops asking to find out. */
const MAX_UNPROVED_REPORTS = 12

export const newQuota = (): QuotaState => ({
  key: null,
  known: false,
  usedSessions: 0,
  includedSessions: INCLUDED_SESSIONS,
  overageSessions: 0,
  overagePacks: 0,
  reportedAtMs: null,
  sinceMs: null,
  account: newAccount(),
  pending: null,
  candidate: null,
  pastKeys: [],
})

export const accountOf = ({ account }: { account?: UsageAccount | undefined }): UsageAccount => account ?? newAccount()

/** Sessions used by a report; null where it does not say. */
export function reportedUsed(usage: ReportedUsage, includedSessions: number): number | null {
  const remaining = usage.billableRemainingThisPeriod
  return usage.billableUsedThisPeriod ?? (remaining === null ? null : Math.max(0, includedSessions - remaining))
}

export const latestReport = (quota: QuotaState, { sentAtMs }: BilledAnswer): number =>
  Math.max(quota.reportedAtMs ?? 0, sentAtMs)

/** The account with a usage report and the answer that brought it; `heldSessions` may have been billed by lost answers. */
export const withReport = (
  account: UsageAccount,
  used: number,
  { sentAtMs, receivedAtMs, billed, certain = true, unseen = 0 }: BilledAnswer,
  heldSessions: number,
): UsageAccount =>
  applyReport(account, used, {
    sentAtMs,
    receivedAtMs,
    sessions: certain ? billed : 0,
    unseen: unseen + heldSessions,
  })

/** Counts a usage report of the known period, and the answer that brought it. */
export function countReport(quota: QuotaState, used: number, answer: BilledAnswer): QuotaState {
  const account = withReport(accountOf(quota), used, answer, quota.pending?.sessions ?? 0)
  const usedSessions = Math.max(quota.usedSessions, used, certainSessions(account))
  const left = withoutSettledPending({ ...quota, account, usedSessions }, answer.sentAtMs)
  // The billed sessions are a guess, and the report may be late.
  return answer.certain === false && answer.billed > 0 && account.lag
    ? holdPending(left, answer.billed, answer.receivedAtMs)
    : left
}

/**
 * Counts sessions of an answer without a usage report: a later report may include them. What was held back before, and a report
 * requested later does not show, counts as spent.
 */
export function countBilled(quota: QuotaState, answer: BilledAnswer): QuotaState {
  const left = withoutSettledPending(quota, answer.sentAtMs)
  const settled = left.pending === null ? (quota.pending?.sessions ?? 0) : 0
  const counted = {
    ...left,
    known: true,
    usedSessions: quota.usedSessions + settled,
    reportedAtMs: latestReport(quota, answer),
  }
  return answer.billed > 0 ? holdPending(counted, answer.billed, answer.receivedAtMs) : counted
}

/** A report that was requested after an answer was given up includes what that answer billed, unless reports are late. */
const withoutSettledPending = (quota: QuotaState, sentAtMs: number): QuotaState =>
  quota.pending && isComplete(accountOf(quota), sentAtMs, quota.pending.sinceMs) ? { ...quota, pending: null } : quota

/** Holds back what lost answers may have billed; `sinceMs`: when they were given up. */
export const holdPending = (quota: QuotaState, sessions: number, sinceMs: number): QuotaState => ({
  ...quota,
  pending: {
    sessions: (quota.pending?.sessions ?? 0) + sessions,
    sinceMs: Math.max(quota.pending?.sinceMs ?? 0, sinceMs),
  },
})

/** Sessions that may be used, without those of lost answers. */
export const possiblyUsed = (quota: QuotaState): number =>
  Math.max(quota.usedSessions, quota.candidate?.usedSessions ?? 0, possibleSessions(accountOf(quota)))

/** Sessions left before overage beyond the allowed packs. May be negative. */
export const sessionsLeft = (quota: QuotaState, allowedPacks: number): number =>
  quota.includedSessions + allowedPacks * PACK_SESSIONS - possiblyUsed(quota) - (quota.pending?.sessions ?? 0)

/** From when on a report may show that more sessions are left than can be said now, ms; null: none can. */
export function resolvesAtMs(quota: QuotaState): number | null {
  const { drop, candidate, pending, usedSessions } = quota
  if (drop) return 0
  const reports = candidate?.reports ?? 0
  if (quota.unproved && reports <= 1) return 0
  if (candidate && candidate.usedSessions > usedSessions && reports <= MAX_EARLY_PROBES) return 0
  if (reports > MAX_UNPROVED_REPORTS) return null
  const account = accountOf(quota)
  if (pending === null && possibleSessions(account) <= usedSessions) return null
  return Math.max(completeFromMs(account), pending ? pending.sinceMs + (account.lag?.ms ?? 0) : 0)
}
