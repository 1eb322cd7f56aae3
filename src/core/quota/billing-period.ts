// Which billing period an answer reports. A change of `periodKey` begins a new period; an earlier period never becomes current again.
//
//   known ── another key ──▶ candidate ── enough consecutive reports ──▶ known (the new period)
//     ▲                          │
//     └── two later reports ◀────┘
//         of the known key
//
// An answer may report an old period by mistake, and an old key that was never seen looks like a new one. So another key is believed
// once two consecutive answers report it, the second one requested after the first one arrived; once three do, if its usage is not below
// that of the known period, because the key may then belong to a past period. Until then, exports stay within what both periods have left.
//
// Without keys, a new period begins when the reported usage falls below half and the next answer confirms it.
import { countGoesOn, FIRST_REPORTS } from './period-keys.ts'
import {
  accountOf,
  type BilledAnswer,
  type CandidatePeriod,
  countBilled,
  countReport,
  holdPending,
  latestReport,
  newQuota,
  type QuotaState,
  reportedUsed,
  withReport,
} from './quota.ts'
import type { ReportedUsage } from './reported-usage.ts'
import { nextAccount } from './usage-account.ts'

export const PAST_KEYS_KEPT = 24

/** Consecutive reports that prove a candidate, depending on whether its usage is lower than that of the known period. */
const REPORTS_NEEDED = { lower: 2, notLower: 3 }

/** Applies the usage report of an answer. */
export function applyUsage(quota: QuotaState, usage: ReportedUsage, answer: BilledAnswer): QuotaState {
  const next = applyPeriod(quota, usage, answer)
  const used = reportedUsed(usage, next.includedSessions)
  return usage.periodKey === next.key && used !== null ? withContinuedCount(next, used) : next
}

/** Applies a usage report, without checking whether the count of the previous key continues. */
export function applyPeriod(quota: QuotaState, usage: ReportedUsage, answer: BilledAnswer): QuotaState {
  const key = usage.periodKey
  const changes = key !== null && quota.key !== null && key !== quota.key
  if (changes && quota.pastKeys.includes(key))
    return { ...billedElsewhere(quota, answer), reportedAtMs: latestReport(quota, answer) }
  if (changes && !isProved(quota, key, { usage, answer })) return withCandidate(quota, key, { usage, answer })
  const droppedTo = droppedUsage(quota, usage)
  if (droppedTo !== null && answer.sentAtMs < (quota.drop?.sinceMs ?? Number.POSITIVE_INFINITY))
    return withDrop(quota, droppedTo, answer)
  const isFirstContradiction = quota.candidate?.reports === 1 && !changes
  const known = droppedTo === null ? contradictCandidate(withoutDrop(quota), key, answer) : periodAfterDrop(quota)
  const current = changes ? newestPeriod(quota, quota.candidate!) : known
  const includedSessions = usage.includedQuota ?? current.includedSessions
  const used = reportedUsed(usage, includedSessions)
  const counted = used === null ? countBilled(current, answer) : countReport(current, used, answer)
  return {
    ...counted,
    key: key ?? current.key,
    known: true,
    includedSessions,
    overageSessions: Math.max(current.overageSessions, usage.overageUsedThisPeriod ?? 0),
    overagePacks: Math.max(current.overagePacks, usage.overagePacksCharged ?? 0),
    // Kept after the first contradiction of a candidate, so that the vendor may be asked again at once.
    reportedAtMs:
      isFirstContradiction && current.candidate !== null ? current.reportedAtMs : latestReport(current, answer),
    sinceMs: current.sinceMs ?? answer.sentAtMs,
    // Without a key there is nothing to prove.
    unproved: key !== null && quota.key === null,
    ...(current.drop && { drop: null }),
  }
}

interface Report {
  usage: ReportedUsage
  answer: BilledAnswer
}

function isProved(quota: QuotaState, key: string, { usage, answer }: Report): boolean {
  const { candidate, unproved, usedSessions } = quota
  if (candidate?.key !== key || !candidate.isNewest || answer.sentAtMs < (candidate.sinceMs ?? 0)) return false
  const used = reportedUsed(usage, usage.includedQuota ?? quota.includedSessions) ?? 0
  const needed = unproved || used < usedSessions ? REPORTS_NEEDED.lower : REPORTS_NEEDED.notLower
  return (candidate.consecutive ?? 1) + 1 >= needed
}

/** Records a report of another period that is not proved yet. */
function withCandidate(quota: QuotaState, key: string, { usage, answer }: Report): QuotaState {
  const before = quota.candidate?.key === key ? quota.candidate : null
  const used = reportedUsed(usage, usage.includedQuota ?? quota.includedSessions) ?? 0
  const candidate: CandidatePeriod = {
    key,
    usedSessions: Math.max(before?.usedSessions ?? 0, used),
    isNewest: true,
    // Counts reports of any other period, so that a vendor that names a different one in each answer is not asked again at once each
    // time. Answers in flight at the same time count once, and so do answers that the lease log repeats after a restart.
    reports: (quota.candidate?.reports ?? 0) + (answer.sentAtMs < (quota.candidate?.sinceMs ?? 0) ? 0 : 1),
    ...consecutiveReports(before, answer),
    contradictions: 0,
    account: withReport(before?.account ?? nextAccount(accountOf(quota)), used, answer, 0),
  }
  // Kept after the first report, so that the vendor may be asked again at once.
  const reportedAtMs = quota.candidate === null ? quota.reportedAtMs : latestReport(quota, answer)
  return { ...billedElsewhere(quota, answer), candidate, reportedAtMs }
}

/** Answers in flight at the same time count once. */
function consecutiveReports(
  before: CandidatePeriod | null,
  { sentAtMs, receivedAtMs }: BilledAnswer,
): Pick<CandidatePeriod, 'consecutive' | 'sinceMs'> {
  if (before === null) return { consecutive: 1, sinceMs: receivedAtMs }
  const { consecutive = 1, sinceMs = receivedAtMs } = before
  return sentAtMs < sinceMs ? { consecutive, sinceMs } : { consecutive: consecutive + 1, sinceMs: receivedAtMs }
}

/** The known period was reported again: the candidate may be a mistake, and the second such report drops it. */
function contradictCandidate(quota: QuotaState, key: string | null, { sentAtMs }: BilledAnswer): QuotaState {
  const { candidate } = quota
  if (candidate === null || key === null || sentAtMs < (candidate.sinceMs ?? 0)) return quota
  const contradictions = (candidate.contradictions ?? 0) + 1
  // Each report of the known period cancels one report of the candidate.
  const consecutive = Math.max(0, (candidate.consecutive ?? 1) - 1)
  return {
    ...quota,
    candidate: contradictions > 1 ? null : { ...candidate, isNewest: false, contradictions, consecutive },
  }
}

/** Makes the proved candidate the known period. */
function newestPeriod(quota: QuotaState, { key, account, sinceMs }: CandidatePeriod): QuotaState {
  const pastKeys = quota.key === null ? quota.pastKeys : [...quota.pastKeys, quota.key].slice(-PAST_KEYS_KEPT)
  const { includedSessions } = quota
  const usedSessions = accountOf(quota).report?.usedSessions ?? quota.usedSessions
  return {
    ...newQuota(),
    includedSessions,
    key,
    pastKeys,
    sinceMs: sinceMs ?? null,
    account: accountOf({ account }),
    previous: { usedSessions, sinceMs: quota.sinceMs ?? null, reports: 0 },
  }
}

/** If the count of the previous key continues under the current key, both name one period, which began with the previous key. */
function withContinuedCount(quota: QuotaState, used: number): QuotaState {
  const { previous, pending } = quota
  if (!previous) return quota
  const carried = used - accountOf(quota).own - (pending?.sessions ?? 0)
  if (countGoesOn(previous.usedSessions, carried))
    return { ...quota, sinceMs: previous.sinceMs ?? quota.sinceMs ?? null, previous: null }
  const reports = previous.reports + 1
  return { ...quota, previous: reports < FIRST_REPORTS ? { ...previous, reports } : null }
}

/** Holds back the sessions that were billed by an answer which reports a period other than the known one. */
const billedElsewhere = (quota: QuotaState, { billed, receivedAtMs }: BilledAnswer): QuotaState =>
  billed > 0 ? holdPending(quota, billed, receivedAtMs) : quota

/** The reported usage if there are no keys and it is less than half of the previous report; otherwise null. */
function droppedUsage(quota: QuotaState, usage: ReportedUsage): number | null {
  if (quota.key !== null || usage.periodKey !== null) return null
  const used = reportedUsed(usage, usage.includedQuota ?? quota.includedSessions)
  return used !== null && 2 * used < (accountOf(quota).report?.usedSessions ?? 0) ? used : null
}

/** Records a drop of the usage. It may be the mistake of one answer: the next answer that is requested later decides. */
function withDrop(quota: QuotaState, used: number, answer: BilledAnswer): QuotaState {
  const account = withReport(quota.drop?.account ?? nextAccount(accountOf(quota)), used, answer, 0)
  const sinceMs = quota.drop?.sinceMs ?? answer.receivedAtMs
  return { ...billedElsewhere(quota, answer), drop: { sinceMs, account } }
}

/** The drop was a late or mistaken report: adds what was billed since to the known period, because a late report lacks it. */
function withoutDrop(quota: QuotaState): QuotaState {
  if (!quota.drop) return quota
  const [{ own, recent }, account] = [quota.drop.account, accountOf(quota)]
  return { ...quota, account: { ...account, own: account.own + own, recent } }
}

/** The period that began with the drop. */
const periodAfterDrop = ({ includedSessions, drop }: QuotaState): QuotaState => ({
  ...newQuota(),
  includedSessions,
  ...(drop && { account: drop.account, sinceMs: drop.sinceMs }),
})
