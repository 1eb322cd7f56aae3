// The quota after a restart. What the loaded pages reported gives the counts of each period; the newest answers, which the lease log repeats,
// decide again which one is running.
import { idOfKey, MAX_DOUBTS } from './billing-period.ts'
import { INCLUDED_SESSIONS, NOTHING_REPORTED, newQuota, type Period, type QuotaState } from './quota.ts'

/** What the loaded pages have reported under one key. */
export interface ReportedPeriod {
  key: string
  /** Number of pages that reported it. */
  reports: number
  usedSessions: number
  /** What our own answers billed. */
  ownSessions: number
  /** Sessions that are certainly used: what our own answers billed, and the minimum that others used. */
  certainSessions: number
  includedSessions: number | null
  overageSessions: number
  overagePacks: number
  sinceMs: number
  reportedAtMs: number
}

/** A period that fewer pages reported may have been a mistake of the vendor. */
const REPORTS_OF_A_PERIOD = 10

function periodFrom(reported: ReportedPeriod): Period {
  const { ownSessions, certainSessions, reports, reportedAtMs: _at, ...period } = reported
  return {
    ...NOTHING_REPORTED,
    ...period,
    id: idOfKey(period.key),
    usedSessions: Math.max(period.usedSessions, certainSessions),
    mostReported: period.usedSessions,
    includedSessions: period.includedSessions ?? INCLUDED_SESSIONS,
    isIncludedReported: period.includedSessions !== null,
    ownBefore: ownSessions,
    doubts: reports > REPORTS_OF_A_PERIOD ? MAX_DOUBTS + 1 : 0,
  }
}

/** Rebuilds the quota from the reported periods; the last one is the period that most of the newest pages named. */
export function recoverQuota(reported: readonly ReportedPeriod[]): QuotaState {
  const last = reported.at(-1)
  if (last === undefined) return newQuota()
  return {
    ...newQuota(),
    ...periodFrom(last),
    known: true,
    reportedAtMs: last.reportedAtMs,
    others: reported.slice(0, -1).map(periodFrom),
    isProved: last.reports > REPORTS_OF_A_PERIOD,
  }
}
