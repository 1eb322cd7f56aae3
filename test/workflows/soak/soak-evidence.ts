// Collects what a soak leaves behind (log of the sandbox, landing, lease log) and matches requests with the pages they produced.
import type { RequestMade } from '../../../src/core/governor/lease-entries.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import type { PageHead } from '../../../src/landing/page.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'
import { leaseLogEntries } from '../../landing/lease-log-entries.ts'
import { type SimulatedApp, WORKSPACE } from '../simulated/open-simulated-app.ts'

export interface LandedPage {
  path: string
  head: PageHead
  /** Ids of the page's records, in order; null for a record without an id. */
  ids: (string | null)[]
  /** The request that produced the page. */
  request: ServedRequest
}

export interface Evidence {
  requests: ServedRequest[]
  /** In loading order. */
  pages: LandedPage[]
  /** Landed pages without a request in the sandbox's log. */
  strays: string[]
  /** Requests in the sandbox's log that produced no page, including probes. */
  pageless: ServedRequest[]
  leaseLog: RequestMade[]
}

/** Converts the sandbox's time to ours. */
export type OurClock = (sandboxMs: number) => number

const idOf = (record: unknown): string | null => {
  const id = (record as { ID?: unknown } | null)?.ID
  return typeof id === 'string' ? id : null
}

const keyOf = (agentId: string | null, query: Record<string, string>, sentAtMs: number): string =>
  JSON.stringify([agentId, sentAtMs, Object.entries(query).sort()])

/** Matches requests with pages: each page has one request, and each request at most one page. */
export async function gather(simulated: SimulatedApp, ourTime: OurClock): Promise<Evidence> {
  const requests = await simulated.served()
  const answered = new Map<string, ServedRequest[]>()
  for (const request of requests.filter(
    ({ status, returned, billed }) => status === 200 && (returned > 0 || billed === 0),
  )) {
    const key = keyOf(request.agentId, request.query, ourTime(request.at))
    answered.set(key, [...(answered.get(key) ?? []), request])
  }
  const landing = openLanding(simulated.config.home).workspace(WORKSPACE)
  const evidence: Evidence = { requests, pages: [], strays: [], pageless: [], leaseLog: [] }
  const used = new Set<ServedRequest>()
  for (const { address: path } of await landing.list('conversations')) {
    const head = await landing.head(path)
    const candidates = answered.get(keyOf(head.place.agentId, head.request.query, head.sentAtMs)) ?? []
    const request = candidates.find(one => !used.has(one) && one.returned === head.facts!.returned)
    // A single conversation that failed twice lands as not exportable, with the answer to the empty window that was requested after it.
    if (!request && head.facts!.returned === 0 && head.facts!.missing.length === 1) continue
    if (!request) {
      evidence.strays.push(path)
      continue
    }
    used.add(request)
    const { data } = JSON.parse((await landing.body(path)).toString()) as { data: unknown[] }
    evidence.pages.push({ path, head, ids: data.map(idOf), request })
  }
  evidence.pageless = requests.filter(request => !used.has(request))
  const entries = leaseLogEntries(simulated.config.home, WORKSPACE)
  evidence.leaseLog = entries.filter(entry => entry.kind === 'request')
  return evidence
}
