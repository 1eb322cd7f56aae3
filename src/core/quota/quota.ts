// The quota: how many billable sessions may still be exported in the billing period. Usage only grows within a period, so the highest
// report is believed; sessions that our own answers billed and that the report lacks are added (usage-account.ts). billing-period.ts
// decides which period an answer reports.
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
  /** True while only one answer has reported this key, which proves nothing. */
  unproved?: boolean
  /** False until the first usage report; before it, no request that could bill is sent. */
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
  /** Sessions that lost answers may have billed; held back until a usage report that was requested later. */
  pending: { sessions: number; sinceMs: number } | null
  candidate: CandidatePeriod | null
  /** Keys of earlier periods, newest last. */
  pastKeys: readonly string[]
  /** Without keys: set after the last answer reported less than half of the usage before it. */
  drop?: { sinceMs: number; account: UsageAccount } | null
  /** Usage under the previous key; kept while the first reports under the current key may show that both name one period. */
  previous?: { usedSessions: number; sinceMs: number | null; reports: number } | null
}

/** Another period that was reported and is not proved yet. */
export interface CandidatePeriod {
  key: string
  usedSessions: number
  /** True where the newest answer reported this candidate. */
  isNewest: boolean
  /** Number of answers that reported any period other than the known one. */
  reports?: number
  /** Answers that reported this candidate, each requested after the previous one arrived, minus answers that reported the known period. */
  consecutive?: number
  /** When the newest answer counted in `consecutive` arrived, ms: only answers requested later count as further ones. */
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
  /** False where the answer did not report what it billed: `billed` is a guess, which the next usage report replaces. */
  certain?: boolean
  /** Sessions that our other requests, whose answers are not known yet, may have billed meanwhile. */
  unseen?: number
}

/** Included sessions of a period, unless the vendor reports another number (section 8). */
export const INCLUDED_SESSIONS = 50_000

/** Sessions in a pack of overage (section 8). */
export const PACK_SESSIONS = 1_000

/** After more reports of other periods than this, the vendor is not asked again at once: such reports may never end. */
const MAX_EARLY_PROBES = 3

/** After more reports of unproved periods than this, a run no longer asks the vendor in order to find the period out. */
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

/** Used sessions according to a report; null where the report lacks both numbers. */
export function reportedUsed(usage: ReportedUsage, includedSessions: number): number | null {
  const remaining = usage.billableRemainingThisPeriod
  return usage.billableUsedThisPeriod ?? (remaining === null ? null : Math.max(0, includedSessions - remaining))
}

export const latestReport = (quota: QuotaState, { sentAtMs }: BilledAnswer): number =>
  Math.max(quota.reportedAtMs ?? 0, sentAtMs)

/** Adds a usage report, and the answer that contained it, to an account. `heldSessions`: sessions that lost answers may have billed. */
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

/** Counts a usage report of the known period, and the answer that contained it. */
export function countReport(quota: QuotaState, used: number, answer: BilledAnswer): QuotaState {
  const account = withReport(accountOf(quota), used, answer, quota.pending?.sessions ?? 0)
  const usedSessions = Math.max(quota.usedSessions, used, certainSessions(account))
  const left = withoutSettledPending({ ...quota, account, usedSessions }, answer.sentAtMs)
  // The billed sessions are a guess, and the report may be late: they are held back.
  return answer.certain === false && answer.billed > 0 && account.lag
    ? holdPending(left, answer.billed, answer.receivedAtMs)
    : left
}

/**
 * Counts an answer without a usage report: its sessions are held back until a later report may include them. Sessions that were held back
 * before this answer was requested count as used, because it brings no report that would show otherwise.
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

/** Drops held-back sessions: a report requested after the lost answer was given up includes what that answer billed, unless it is late. */
const withoutSettledPending = (quota: QuotaState, sentAtMs: number): QuotaState =>
  quota.pending && isComplete(accountOf(quota), sentAtMs, quota.pending.sinceMs) ? { ...quota, pending: null } : quota

/** Holds back the sessions that lost answers may have billed. `sinceMs`: when those answers were given up. */
export const holdPending = (quota: QuotaState, sessions: number, sinceMs: number): QuotaState => ({
  ...quota,
  pending: {
    sessions: (quota.pending?.sessions ?? 0) + sessions,
    sinceMs: Math.max(quota.pending?.sinceMs ?? 0, sinceMs),
  },
})

/** The most sessions that may be used by now, not counting those of lost answers. */
export const possiblyUsed = (quota: QuotaState): number =>
  Math.max(quota.usedSessions, quota.candidate?.usedSessions ?? 0, possibleSessions(accountOf(quota)))

/** Sessions left of the included ones and the allowed packs. May be negative. */
export const sessionsLeft = (quota: QuotaState, allowedPacks: number): number =>
  quota.includedSessions + allowedPacks * PACK_SESSIONS - possiblyUsed(quota) - (quota.pending?.sessions ?? 0)

/** The time, ms, from which a report may show that more sessions are left than is known now; 0: at once; null: no report can. */
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
