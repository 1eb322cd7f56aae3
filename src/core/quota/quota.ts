// The quota: how many billable sessions may still be exported in the billing period. Usage only grows within a period, so the
// highest report is used; sessions that our own answers billed and that the report lacks are added (usage-account.ts). Of
// contradicting numbers, the one that leaves the fewest sessions counts. billing-period.ts decides which period an answer reports.
import type { ReportedUsage } from './reported-usage.ts'
import {
  applyReport,
  certainSessions,
  completeFromMs,
  countRequest,
  isComplete,
  newAccount,
  possibleSessions,
  type UsageAccount,
} from './usage-account.ts'

/** Facts known about one billing period. */
export interface Period {
  /** Distinguishes periods, even those that were reported under the same key or none. */
  id: string
  /** Opaque key of the period; null until the vendor has reported one. */
  key: string | null
  /** Sessions that are certainly used. */
  usedSessions: number
  /** The highest reported usage; 0 for none. */
  mostReported: number
  includedSessions: number
  /** False while `includedSessions` is assumed, from the API document or the previous period. */
  isIncludedReported: boolean
  overageSessions: number
  overagePacks: number
  /** Time of the period's first report, ms; null if unknown. */
  sinceMs: number | null
  /** Sessions of the period that our own answers had billed before the account began. */
  ownBefore: number
  account: UsageAccount
  /** Number of answers that named it while another period was the known one. */
  doubts: number
}

/** An answer that named a period. */
export interface Vote {
  id: string
  sentAtMs: number
  receivedAtMs: number
  weight: number
}

/** The known period, and the other facts that answers have reported. */
export interface QuotaState extends Period {
  /** False until the first usage report; before it, no request that could be billed is sent. */
  known: boolean
  reportedAtMs: number | null
  /** Sessions that a later usage report will show; `unanswered`: those that lost answers may have billed. */
  pending: { sessions: number; unanswered: number; sinceMs: number } | null
  /** Other reported periods, the one with the latest report last. */
  others: readonly Period[]
  /** Ids of those `others` that may be the running period. */
  rivals: readonly string[]
  /** The newest answers that named a period, in the order of their requests. */
  votes: readonly Vote[]
  /** True once more answers have named a period than `votes` holds. */
  isProved: boolean
}

/** Times of an answer, ms, and the sessions that it billed. */
export interface BilledAnswer {
  sentAtMs: number
  receivedAtMs: number
  billed: number
  /** Sessions that it certainly billed, if unreported. The rest of `billed` is a guess, which the next usage report replaces. */
  certain?: number
  /** True for the answer to a probe, whose address was new, so that it cannot be cached. */
  isProbe?: boolean
  /** Sessions that our other requests, still unanswered, may have billed in the same time. */
  unseen?: number
}

/** Included sessions of a period, unless the vendor reports another number (section 8). */
export const INCLUDED_SESSIONS = 50_000

/** Sessions in a pack of overage (section 8). */
export const PACK_SESSIONS = 1_000

/** A period without any report. */
export const NOTHING_REPORTED: Period = {
  id: 'key ',
  key: null,
  usedSessions: 0,
  mostReported: 0,
  includedSessions: INCLUDED_SESSIONS,
  isIncludedReported: false,
  overageSessions: 0,
  overagePacks: 0,
  sinceMs: null,
  ownBefore: 0,
  account: newAccount(),
  doubts: 0,
}

export const newQuota = (): QuotaState => ({
  ...NOTHING_REPORTED,
  known: false,
  reportedAtMs: null,
  pending: null,
  others: [],
  rivals: [],
  votes: [],
  isProved: false,
})

/** Returns the known period alone. */
export const periodOf = (quota: QuotaState): Period => {
  const { known: _known, reportedAtMs: _at, pending: _held, others: _others, rivals: _rivals, ...rest } = quota
  const { votes: _votes, isProved: _proved, ...period } = rest
  return period
}

/**
 * Returns the included sessions of the period after a report. More than reported before count only if used and
 * remaining sessions of the same answer add up to them.
 */
export function includedOf(
  { includedSessions, isIncludedReported }: Pick<Period, 'includedSessions' | 'isIncludedReported'>,
  { includedQuota, billableUsedThisPeriod: used, billableRemainingThisPeriod: remaining }: ReportedUsage,
): number {
  if (includedQuota === null) return includedSessions
  if (used !== null && remaining !== null) return Math.min(includedQuota, used + remaining)
  return isIncludedReported ? Math.min(includedSessions, includedQuota) : includedQuota
}

/** Returns the used sessions according to a report: the maximum that any of its numbers shows. Null if the report has none. */
export function reportedUsed(usage: ReportedUsage, includedSessions: number): number | null {
  const { billableUsedThisPeriod: used, billableRemainingThisPeriod: remaining, overagePacksCharged } = usage
  const packs = overagePacksCharged ?? 0
  // A pack is charged with its first session.
  const overage = Math.max(usage.overageUsedThisPeriod ?? 0, packs > 0 ? (packs - 1) * PACK_SESSIONS + 1 : 0)
  if (used === null && remaining === null && overage === 0) return null
  return Math.max(
    used ?? 0,
    includedSessions - (remaining ?? includedSessions),
    overage > 0 ? includedSessions + overage : 0,
  )
}

export const latestReport = (quota: QuotaState, { sentAtMs }: BilledAnswer): number =>
  Math.max(quota.reportedAtMs ?? 0, sentAtMs)

/**
 * Counts a usage report of the period, and the answer that contained it. `heldSessions`: sessions that lost answers may
 * have billed. Without a count, only the other numbers are used.
 */
export function countReport(period: Period, usage: ReportedUsage, answer: BilledAnswer, heldSessions: number): Period {
  const { sentAtMs, receivedAtMs, billed, certain = billed, unseen = 0 } = answer
  const includedSessions = includedOf(period, usage)
  const used = reportedUsed(usage, includedSessions)
  const request = { sentAtMs, receivedAtMs, sessions: certain, unseen: unseen + heldSessions }
  const account = used === null ? period.account : applyReport(period.account, used, request)
  return {
    ...period,
    key: usage.periodKey ?? period.key,
    account,
    usedSessions: Math.max(period.usedSessions, used ?? 0, certainSessions(account)),
    mostReported: Math.max(period.mostReported, used ?? 0),
    includedSessions,
    isIncludedReported: period.isIncludedReported || usage.includedQuota !== null,
    overageSessions: Math.max(period.overageSessions, usage.overageUsedThisPeriod ?? 0),
    overagePacks: Math.max(period.overagePacks, usage.overagePacksCharged ?? 0),
    sinceMs: period.sinceMs ?? sentAtMs,
  }
}

/** Counts the bill of an answer that reported another period, since it may belong to this one. */
export function countOwn(period: Period, { sentAtMs, receivedAtMs, billed, certain = billed }: BilledAnswer): Period {
  const account = countRequest(period.account, { sentAtMs, receivedAtMs, sessions: certain })
  return { ...period, account, usedSessions: Math.max(period.usedSessions, certainSessions(account)) }
}

/**
 * Counts an answer without a usage report: its sessions are held back until a later report may include them. Sessions that
 * were held back before this answer was requested count as used, because it contains no report that would show otherwise.
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

/** Drops held-back sessions: a report requested after the lost answer was given up includes its bill, unless it is late. */
export const withoutSettledPending = (quota: QuotaState, sentAtMs: number): QuotaState =>
  quota.pending && isComplete(quota.account, sentAtMs, quota.pending.sinceMs) ? { ...quota, pending: null } : quota

/** Holds back the sessions of an answer without a usage report, or of a lost one. `sinceMs`: when it arrived or was given up. */
export const holdPending = (
  { pending, ...quota }: QuotaState,
  sessions: number,
  sinceMs: number,
  why: 'unreported' | 'unanswered' = 'unreported',
): QuotaState => ({
  ...quota,
  pending: {
    sessions: (pending?.sessions ?? 0) + sessions,
    unanswered: (pending?.unanswered ?? 0) + (why === 'unanswered' ? sessions : 0),
    sinceMs: Math.max(pending?.sinceMs ?? 0, sinceMs),
  },
})

/** Returns the sessions left in a period, not counting those of lost answers. May be negative. */
const leftIn = ({ includedSessions, usedSessions, account }: Period, allowedPacks: number): number =>
  includedSessions + allowedPacks * PACK_SESSIONS - Math.max(usedSessions, possibleSessions(account))

/** Returns the fewest sessions left in any period that may be the running one. */
const leastLeft = (quota: QuotaState, allowedPacks: number): number =>
  Math.min(
    leftIn(quota, allowedPacks),
    ...quota.others.filter(({ id }) => quota.rivals.includes(id)).map(period => leftIn(period, allowedPacks)),
  )

/** Returns the most sessions that may be used by now, not counting those of lost answers. */
export const possiblyUsed = (quota: QuotaState): number => quota.includedSessions - leastLeft(quota, 0)

/** Returns the sessions left of the included ones and the allowed packs. May be negative. */
export const sessionsLeft = (quota: QuotaState, allowedPacks: number): number =>
  leastLeft(quota, allowedPacks) - (quota.pending?.sessions ?? 0)

/** Returns the time, ms, from which a report may show more sessions left than are known now; 0 for at once; null if no report can. */
export function resolvesAtMs(quota: QuotaState): number | null {
  const { account, pending, usedSessions } = quota
  const isNamedOnce = !quota.isProved && quota.votes.length === 1
  if (quota.rivals.length > 0 || isNamedOnce) return 0
  if (pending === null && possibleSessions(account) <= usedSessions) return null
  return Math.max(completeFromMs(account), pending ? pending.sinceMs + (account.lag?.ms ?? 0) : 0)
}
