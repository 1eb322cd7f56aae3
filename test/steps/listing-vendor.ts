// A real server between a house and its sandbox: it lists the sandbox's agents in a way of its own, and passes all else on.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { TOKEN } from '../workflows/open-simulated-app.ts'

export interface ListedAgent {
  ID: string
  starred: boolean
}

export interface Listed {
  /** All of them, in the order of their creation. */
  agents: ListedAgent[]
  params: URLSearchParams
  /** Listings asked for so far, this one included. */
  number: number
}

export type ListingAnswer = { status: number; body?: unknown } | object

const HEADERS = { authorization: `Bearer ${TOKEN}` }

async function allAgents({ url }: Sandbox): Promise<ListedAgent[]> {
  const agents: ListedAgent[] = []
  for (let page = 1; ; page++) {
    const answer = await fetch(`${url}/v3/agents/search?sortBy=firstCreated&limit=100&page=${page}`, {
      headers: HEADERS,
    })
    const body = (await answer.json()) as { agents: ListedAgent[]; hasMore: boolean }
    agents.push(...body.agents)
    if (!body.hasMore) return agents
  }
}

export interface ListingVendor {
  url: string
  asked: URLSearchParams[]
}

/** Its `answer` to a search: a body, or a status and a body. */
export async function listingVendor(
  sandbox: Sandbox,
  answer: (listed: Listed) => ListingAnswer,
): Promise<ListingVendor> {
  const asked: URLSearchParams[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, sandbox.url)
    if (!url.pathname.endsWith('/agents/search')) {
      const passed = await fetch(url, { headers: HEADERS })
      response.writeHead(passed.status, { date: passed.headers.get('date') ?? '' }).end(await passed.text())
      return
    }
    asked.push(url.searchParams)
    const told = answer({ agents: await allAgents(sandbox), params: url.searchParams, number: asked.length })
    const { status, body } =
      'status' in told ? (told as { status: number; body?: unknown }) : { status: 200, body: told }
    response
      .writeHead(status, { 'content-type': 'application/json', date: new Date(sandbox.clock.now()).toUTCString() })
      .end(JSON.stringify(body ?? {}))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** The page that was asked for, of `size` agents where the vendor does not take the size that was asked for. */
export function pageOf({ agents, params }: Listed, size = Number(params.get('limit') ?? 50)): ListedAgent[] {
  const page = Number(params.get('page') ?? 1)
  return agents.slice((page - 1) * size, page * size)
}
