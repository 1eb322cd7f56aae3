// Compares the billed requests of killed syncs with the pages that landed: the next sync repeats a request whose page did not land.
import { openLanding } from '../../../src/landing/folder-landing.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'
import { isProbe } from '../../workflows/simulated/probe.ts'
import type { KilledHome } from './killed-home.ts'

export interface BilledRequest {
  /** Requests for the list of agents (`listings`) and for pages (`requests`), without probes, which are not billed. */
  listings: number
  requests: number
  /** Requests for pages that did not land. */
  unlanded: number
  /** Requests for pages that had landed before. */
  repeated: number
}

export interface BilledRequests {
  /** Counts the requests since the previous call. */
  next(): Promise<BilledRequest>
  /** Returns the number of conversations in all landed pages. */
  conversations(): number
}

const keyOf = ({ agentId, query }: Pick<ServedRequest, 'agentId' | 'query'>): string =>
  JSON.stringify([agentId, Object.entries(query).sort()])

export function watchBilledRequests({ sandbox, home }: KilledHome): BilledRequests {
  const landing = openLanding(home).workspace('ws_demo')
  const landed = new Map<string, { key: string; returned: number }>()
  let last = 0

  async function servedSince(): Promise<ServedRequest[]> {
    // The sandbox may still be serving requests of a killed process; once it has answered this later one, it has served them.
    await (await fetch(`${sandbox.url}/fence`)).text()
    const answer = await fetch(`${sandbox.url}/_sandbox/requests?since=${last}`)
    const { requests } = (await answer.json()) as { requests: ServedRequest[] }
    last = requests.at(-1)?.n ?? last
    return requests
  }

  async function newlyLanded(): Promise<number> {
    const before = landed.size
    for (const { address: path } of await landing.list('conversations')) {
      if (landed.has(path)) continue
      const { place, request, facts } = await landing.head(path)
      landed.set(path, { key: keyOf({ agentId: place.agentId, query: request.query }), returned: facts!.returned })
    }
    return landed.size - before
  }

  return {
    async next() {
      const keys = new Set([...landed.values()].map(({ key }) => key))
      const served = await servedSince()
      const pages = served.filter(request => request.kind === 'export' && !isProbe(request))
      return {
        listings: served.filter(({ kind }) => kind === 'search').length,
        requests: pages.length,
        unlanded: pages.length - (await newlyLanded()),
        repeated: pages.filter(request => keys.has(keyOf(request))).length,
      }
    },
    conversations: () => [...landed.values()].reduce((sum, { returned }) => sum + returned, 0),
  }
}
