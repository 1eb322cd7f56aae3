// A small vendor whose agents, conversations and listing a test changes at will, also while a window is being read.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { isProbeQuery } from './probe.ts'

export interface ModelledRecord extends Record<string, unknown> {
  ID: string
  /** ms. */
  ts: number
}

/** An export request, without probes. */
export interface ModelledRequest {
  agentId: string
  query: Record<string, string>
}

export interface ModelledVendor {
  /** Conversations by agent; an agent that is removed is answered with 404. */
  agents: Map<string, ModelledRecord[]>
  /** Answers for the pages of the listing. Default: one page with all agents. */
  listing: (page: number) => unknown
  cursors: 'offset' | 'keyset'
  /** Called before an export request is answered. */
  before: (request: ModelledRequest) => void
  requests: ModelledRequest[]
  billed: number
  start(sandbox: Sandbox): Promise<string>
}

/** A record with its two messages at `ts`. */
export const modelled = (ID: string, ts: number, more: Record<string, unknown> = {}): ModelledRecord => ({
  ...{
    ID,
    ts,
    firstMessageTS: ts,
    lastMessageTS: ts,
    messagesNum: 2,
    totalUserInteractions: 1,
    sessionsNum: 1,
    ...more,
  },
})

const listed = (ID: string) => ({ ID, title: `Agent ${ID}` })

export function modelledVendor(given: Iterable<[string, ModelledRecord[]]>): ModelledVendor {
  const vendor: ModelledVendor = {
    agents: new Map(given),
    listing: page => ({
      agents: page === 1 ? [...vendor.agents.keys()].map(listed) : [],
      starredAgents: [],
      hasMore: false,
    }),
    cursors: 'keyset',
    before: () => {},
    requests: [],
    billed: 0,
    start: sandbox => start(vendor, sandbox),
  }
  return vendor
}

/** Whole seconds as the vendor compares them. */
const second = (ms: number): number => Math.floor(ms / 1_000)

function exported(vendor: ModelledVendor, records: readonly ModelledRecord[], query: Record<string, string>) {
  const { convoIds, sort = 'desc', fromTs, toTs, cursor } = query
  const limit = Number(query.limit ?? 20)
  if (convoIds !== undefined) {
    const ids = new Set(convoIds.split(','))
    return { data: records.filter(({ ID }) => ids.has(ID)), hasMore: false, nextCursor: null, mode: 'selected' }
  }
  const sign = sort === 'asc' ? 1 : -1
  const order = (a: ModelledRecord, b: ModelledRecord) =>
    sign * (a.ts - b.ts || (a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0))
  const inRange = records
    .filter(({ ts }) => fromTs === undefined || second(ts) >= second(Number(fromTs)))
    .filter(({ ts }) => toTs === undefined || second(ts) <= second(Number(toTs)))
    .sort(order)
  const after =
    cursor === undefined ? null : (JSON.parse(Buffer.from(cursor, 'base64url').toString()) as ModelledRecord)
  const rest =
    vendor.cursors === 'offset'
      ? inRange.slice(after?.ts ?? 0)
      : inRange.filter(record => after === null || order(after, record) < 0)
  const data = rest.slice(0, limit)
  const hasMore = rest.length > limit
  const last = data.at(-1)
  const next = vendor.cursors === 'offset' ? { ts: (after?.ts ?? 0) + data.length } : { ts: last?.ts, ID: last?.ID }
  const nextCursor = hasMore ? Buffer.from(JSON.stringify(next)).toString('base64url') : null
  return { data, hasMore, nextCursor, limit, mode: 'paginated' }
}

function exportAnswer(vendor: ModelledVendor, agentId: string, query: Record<string, string>): [number, unknown] {
  if (!isProbeQuery(query.fromTs, query.toTs)) {
    vendor.requests.push({ agentId, query })
    vendor.before({ agentId, query })
  }
  const records = vendor.agents.get(agentId)
  if (!records) return [404, { message: 'Agent not found', code: 'NOT_FOUND', issues: [] }]
  const page = exported(vendor, records, query)
  vendor.billed += page.data.length
  const usage = {
    ...{ billableUsedThisRequest: page.data.length, billableUsedThisPeriod: vendor.billed },
    ...{ billableRemainingThisPeriod: 50_000 - vendor.billed, includedQuota: 50_000, overagePacksCharged: 0 },
    periodKey: '2026-11',
  }
  const told = { usage, rateLimit: { remainingHour: 1_000 }, scannedConvoCount: page.data.length, source: 'mirror' }
  return [200, { success: true, message: 'exported', ...page, ...told }]
}

async function start(vendor: ModelledVendor, sandbox: Sandbox): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://vendor')
    const query = Object.fromEntries(searchParams)
    const [status, body] = pathname.endsWith('/agents/search')
      ? [200, vendor.listing(Number(query.page ?? 1))]
      : exportAnswer(vendor, decodeURIComponent(pathname.split('/')[3]!), query)
    const date = new Date(sandbox.clock.now()).toUTCString()
    response.sendDate = false
    const headers = { 'content-type': 'application/json', date }
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
