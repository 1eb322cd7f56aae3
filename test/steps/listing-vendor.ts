// A server that answers searches for agents as the test says, and a function that lists the agents of any vendor.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { AGENTS } from '../../src/catalog/resources/agents.ts'
import { createVendorClient } from '../../src/client/client.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { fetchResource, type ResourceListing } from '../../src/steps/listing/resource-pages.ts'
import { TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'

export interface ListedAgent {
  ID: string
  starred: boolean
}

export interface Listed {
  /** All agents, in the order of their creation. */
  agents: readonly ListedAgent[]
  params: URLSearchParams
}

export type ListingAnswer = { status: number; body?: unknown } | object

const HEADERS = { authorization: `Bearer ${TOKEN}` }

export interface ListingVendor {
  url: string
  /** Parameters of each search so far. */
  searches: URLSearchParams[]
}

/** Starts the server. `answer` returns a body, or a status and a body, for a search; other requests go to the sandbox, if given. */
export async function listingVendor(
  agents: readonly ListedAgent[],
  answer: (listed: Listed) => ListingAnswer,
  sandbox?: Sandbox,
): Promise<ListingVendor> {
  const searches: URLSearchParams[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, sandbox?.url ?? 'http://vendor')
    if (!url.pathname.endsWith('/agents/search')) {
      const passed = await fetch(url, { headers: HEADERS })
      response.writeHead(passed.status, { date: passed.headers.get('date') ?? '' }).end(await passed.text())
      return
    }
    searches.push(url.searchParams)
    const given = answer({ agents, params: url.searchParams })
    const { status, body } =
      'status' in given ? (given as { status: number; body?: unknown }) : { status: 200, body: given }
    const date = new Date(sandbox?.clock.now() ?? Date.now()).toUTCString()
    response.writeHead(status, { 'content-type': 'application/json', date }).end(JSON.stringify(body ?? {}))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, searches }
}

/** The requested page of the agents. `size`: agents per page of a vendor that ignores the requested limit. */
export function pageOf({ agents, params }: Listed, size = Number(params.get('limit') ?? 50)): ListedAgent[] {
  const page = Number(params.get('page') ?? 1)
  return agents.slice((page - 1) * size, page * size)
}

/** Lists the agents of the vendor at `url` as a sync does; nothing lands. */
export async function listAgentsOf(url: string): Promise<{ ids: string[]; cutOff: ResourceListing['cutOff'] }> {
  const vendor = createVendorClient({ apiUrl: url, token: TOKEN, sleep: async () => {} })
  try {
    const { signal } = new AbortController()
    const { pages, cutOff } = await fetchResource({ vendor, workspaceId: WORKSPACE, signal }, AGENTS)
    const ids = new Set(pages.flatMap(({ answer }) => answer.envelope?.records ?? []).map(({ id }) => id))
    return { ids: [...ids].sort(), cutOff }
  } finally {
    await vendor.close()
  }
}
