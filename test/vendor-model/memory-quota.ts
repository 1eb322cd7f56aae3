// The billing periods that the loaded pages of a history have reported, as read by `sql/planning/reported_periods`.

import type { ReportedPeriod } from '../../src/core/quota/billing-period.ts'
import { INCLUDED_SESSIONS, PACK_SESSIONS } from '../../src/core/quota/quota.ts'
import { DAY, MINUTE } from '../../src/core/time.ts'
import type { LoadedRequest, MemoryWarehouse } from './memory-warehouse.ts'

/** Returns the greatest known one; null if none is known. */
const greatest = (...values: (number | null | undefined)[]): number | null => {
  const known = values.flatMap(value => value ?? [])
  return known.length === 0 ? null : Math.max(...known)
}

const least = (...values: (number | null | undefined)[]): number | null => {
  const known = values.flatMap(value => value ?? [])
  return known.length === 0 ? null : Math.min(...known)
}

/** Returns the reports with a key, oldest first. */
function keyedReports({ usages }: MemoryWarehouse, days: number) {
  const lastMs = usages.reduce((last, { reportedMs }) => Math.max(last, reportedMs), 0)
  return usages
    .filter(({ usage, reportedMs }) => usage.periodKey !== null && reportedMs >= lastMs - days * DAY)
    .sort((a, b) => a.reportedMs - b.reportedMs)
    .map(({ reportedMs, usage }) => ({ key: usage.periodKey!, reportedMs, usage }))
}

type KeyedReport = ReturnType<typeof keyedReports>[number]

const byKey = (reports: readonly KeyedReport[]): Map<string, KeyedReport[]> => {
  const groups = new Map<string, KeyedReport[]>()
  for (const report of reports) groups.set(report.key, [...(groups.get(report.key) ?? []), report])
  return groups
}

/**
 * Returns the greatest count that each report under one key implies. A count that both following ones contradict was a
 * mistake; reports of the same time do not contradict each other.
 */
function countsOf(own: readonly KeyedReport[]): (readonly [KeyedReport, number | null])[] {
  const included = greatest(...own.map(({ usage }) => usage.includedQuota)) ?? INCLUDED_SESSIONS
  const most = own.map(report => {
    const { usage } = report
    const quota = usage.includedQuota ?? included
    const { billableUsedThisPeriod: used, billableRemainingThisPeriod: left, overagePacksCharged: packs } = usage
    const overage = greatest(usage.overageUsedThisPeriod, packs ? (packs - 1) * PACK_SESSIONS + 1 : 0) ?? 0
    const count = greatest(used, left === null ? null : quota - left, overage > 0 ? quota + overage : null)
    return { report, count }
  })
  const last = Number.POSITIVE_INFINITY
  most.sort((a, b) => a.report.reportedMs - b.report.reportedMs || (a.count ?? last) - (b.count ?? last))
  return most.map(({ report, count }, index) => {
    const [next, second] = [most[index + 1]?.count, most[index + 2]?.count]
    return [report, second == null ? count : least(count, greatest(next, second))]
  })
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Returns the key of each time: the one with the most reports. */
function keysByMoment(reports: readonly KeyedReport[]): KeyedReport[] {
  const groups = byKey(reports)
  const alike = ({ key }: KeyedReport) => groups.get(key)!.length
  return [...reports]
    .sort((a, b) => a.reportedMs - b.reportedMs || alike(b) - alike(a) || order(b.key, a.key))
    .filter(({ reportedMs }, index, all) => reportedMs !== all[index - 1]?.reportedMs)
}

/** Sums what our own answers billed under each key, and adds the least usage of others to get the certain usage. */
function billsOf(
  reports: readonly KeyedReport[],
  counts: ReadonlyMap<KeyedReport, number | null>,
  requests: readonly LoadedRequest[],
): Map<string, { own: number; certain: number }> {
  const bills = new Map<string, { own: number; certain: number }>()
  const sent = [...requests].sort((a, b) => a.sentMs - b.sentMs)
  const keys = keysByMoment(reports)
  for (const key of new Set(reports.map(report => report.key))) {
    let [own, others, next, latest] = [0, 0, 0, -1]
    const countUntil = (ms: number) => {
      for (; next < sent.length && sent[next]!.sentMs <= ms; next++) {
        while (latest + 1 < keys.length && keys[latest + 1]!.reportedMs <= sent[next]!.sentMs) latest += 1
        if (keys[latest]?.key === key) own += sent[next]!.billed ?? 0
      }
    }
    for (const report of reports.filter(one => one.key === key)) {
      // A report may include requests that were sent up to two minutes after its own.
      countUntil(report.reportedMs + 2 * MINUTE)
      others = Math.max(others, (counts.get(report) ?? 0) - own)
    }
    countUntil(Number.POSITIVE_INFINITY)
    bills.set(key, { own, certain: own + others })
  }
  return bills
}

const KEYS = 5
const NEWEST = 20

export function reportedPeriods(warehouse: MemoryWarehouse): ReportedPeriod[] {
  const reports = keyedReports(warehouse, 100)
  const groups = byKey(reports)
  const counts = new Map([...groups.values()].flatMap(countsOf))
  const bills = billsOf(reports, counts, warehouse.requests)
  const newestMs = (reports.at(-NEWEST) ?? reports[0])?.reportedMs ?? 0
  return [...groups]
    .map(([key, own]) => {
      const most = (name: 'overageUsedThisPeriod' | 'overagePacksCharged') =>
        greatest(0, ...own.map(({ usage }) => usage[name]))!
      const included = own.flatMap(({ usage, reportedMs }) => {
        const { billableUsedThisPeriod: used, billableRemainingThisPeriod: left } = usage
        const said = least(usage.includedQuota, used === null || left === null ? null : used + left)
        return said === null ? [] : { said, reportedMs }
      })
      const ofLast = included.filter(({ reportedMs }) => reportedMs === included.at(-1)!.reportedMs)
      return {
        ...{ key, reports: own.length, ownSessions: bills.get(key)!.own, certainSessions: bills.get(key)!.certain },
        usedSessions: greatest(0, ...own.map(report => counts.get(report)))!,
        includedSessions: least(...ofLast.map(({ said }) => said)),
        ...{ overageSessions: most('overageUsedThisPeriod'), overagePacks: most('overagePacksCharged') },
        ...{ sinceMs: own[0]!.reportedMs, reportedAtMs: own.at(-1)!.reportedMs },
        amongNewest: own.filter(({ reportedMs }) => reportedMs >= newestMs).length,
      }
    })
    .sort((a, b) => b.reportedAtMs - a.reportedAtMs || order(a.key, b.key))
    .slice(0, KEYS)
    .sort((a, b) => a.amongNewest - b.amongNewest || a.sinceMs - b.sinceMs || order(a.key, b.key))
    .map(({ amongNewest: _, ...period }) => period)
}
