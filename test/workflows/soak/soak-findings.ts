// Checks of a soak's evidence: each function returns the violations of one rule.
import type { RequestMade } from '../../../src/core/governor/lease-entries.ts'
import { HOUR } from '../../../src/core/time.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'
import { grouped } from './soak-account.ts'
import type { Evidence, LandedPage, OurClock } from './soak-evidence.ts'
import type { PageScan } from './soak-scans.ts'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

/** Pages whose counts of scanned or returned conversations differ from the sandbox's world. */
export const miscounted = (scans: readonly PageScan[]): string[] =>
  scans
    .filter(({ page, entries }) => {
      const { scanned, returned } = page.head.facts!
      return scanned !== entries.length || returned !== entries.filter(entry => entry.returned).length
    })
    .map(({ page }) => page.path)

/** Sums over the pages of each agent, as counted by the sandbox. */
export function tallyOf(
  scans: readonly PageScan[],
): { agentId: string; returned: number; skipped: number; billed: number }[] {
  const byAgent = grouped(
    [...scans],
    ({ page }) => page.request.agentId!,
    scan => scan,
  )
  return [...byAgent]
    .map(([agentId, own]) => {
      const entries = own.flatMap(scan => scan.entries)
      const returned = entries.filter(entry => entry.returned).length
      return {
        agentId,
        returned,
        skipped: entries.length - returned,
        billed: sum(own.map(({ page }) => page.request.billed)),
      }
    })
    .sort((a, b) => (a.agentId < b.agentId ? -1 : 1))
}

export type BilledRequest = { agentId: string; id: string; page: LandedPage }

export const billedRequestsOf = ({ pages }: Evidence): BilledRequest[] =>
  pages.flatMap(page => page.ids.flatMap(id => (id === null ? [] : [{ agentId: page.request.agentId!, id, page }])))

const ON_PURPOSE: ReadonlySet<string> = new Set(['full', 'reread', 'refresh', 'sample', 'selected'])

export interface Repeats {
  /** Number of repeated exports by windows that repeat on purpose: full, re-read, refresh, sample, selected. */
  onPurpose: number
  /** Number of repeated exports by a later generation of the same window: it begins again at the last second of the previous one. */
  restarted: number
  /** Exports that were repeated for neither reason. */
  twice: string[]
}

/** Counts repeated exports of conversations by reason. */
export function repeatsOf(evidence: Evidence): Repeats {
  const repeats: Repeats = { onPurpose: 0, restarted: 0, twice: [] }
  const byConversation = grouped(
    billedRequestsOf(evidence),
    ({ agentId, id }) => JSON.stringify([agentId, id]),
    ({ page }) => page,
  )
  for (const [key, pages] of byConversation) {
    const inOrder = pages.toSorted((a, b) => a.request.n - b.request.n)
    for (const [nth, { head, path }] of inOrder.entries()) {
      const { window, generation } = head.facts!
      const before = inOrder.slice(0, nth).map(page => page.head.facts!)
      if (nth === 0) continue
      if (before.some(facts => facts.window.name === window.name && facts.generation < generation))
        repeats.restarted += 1
      else if (ON_PURPOSE.has(window.kind)) repeats.onPurpose += 1
      else repeats.twice.push(`${key} again by ${path}`)
    }
  }
  return repeats
}

/** Requests that exceed the hourly limit: the last `hourly` requests before them were all sent within an hour. */
export const beyondHour = (requests: readonly ServedRequest[], hourly: number): ServedRequest[] =>
  requests.filter((request, index) => (requests[index - hourly]?.at ?? Number.NEGATIVE_INFINITY) > request.at - HOUR)

export interface Sessions {
  /** Billed sessions, as counted by the sandbox. */
  billed: number
  /** Billed sessions, as recorded in the lease log. */
  logged: number
  /** Sessions billed for answers that produced no page, as counted by the sandbox. */
  lost: number
}

export const sessionsOf = ({ requests, leaseLog, pageless }: Evidence): Sessions => ({
  billed: sum(requests.map(request => request.billed)),
  logged: sum(leaseLog.map(entry => (entry.error === null ? (entry.billed ?? 0) : 0))),
  lost: sum(pageless.map(request => request.billed)),
})

/** Billed requests that produced no page and whose answer the lease log does not record as lost. */
export function silentLosses({ pageless, leaseLog }: Evidence, ourTime: OurClock): ServedRequest[] {
  const lost = new Set(leaseLog.filter(entry => entry.error !== null).map(lineOf))
  return pageless.filter(
    ({ billed, agentId, at }) => billed > 0 && !lost.has(lineOf({ agentId: agentId!, sentAtMs: ourTime(at) })),
  )
}

const lineOf = ({ agentId, sentAtMs }: Pick<RequestMade, 'agentId' | 'sentAtMs'>): string => `${agentId} ${sentAtMs}`

/** Requests without a line in the lease log; each line matches one request. */
export function unlogged({ requests, leaseLog }: Evidence, ourTime: OurClock): ServedRequest[] {
  const lines = new Map<string, number>()
  for (const entry of leaseLog) lines.set(lineOf(entry), (lines.get(lineOf(entry)) ?? 0) + 1)
  return requests.filter(({ agentId, at }) => {
    const line = lineOf({ agentId: agentId!, sentAtMs: ourTime(at) })
    const left = lines.get(line) ?? 0
    lines.set(line, left - 1)
    return left < 1
  })
}
