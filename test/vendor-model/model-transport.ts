// The transport of a history: the model of the vendor behind the client's `Transport` port, and the record of every exchange, for invariants.
import type { Exchange } from '../../src/client/exchange.ts'
import type { Sent, Transport } from '../../src/client/http/transport.ts'
import {
  type Behaviour,
  type BehaviourKind,
  type Draft,
  isActive,
  type Memory,
  newMemory,
  spoil,
} from './behaviours.ts'
import { type Draws, drawsOf } from './draws.ts'
import { billOf, type ExportQuery, exportQuery, type VendorModel, versionOf } from './vendor-model.ts'

/** One request and its answer, from the views of the vendor and of the client. */
export interface Served {
  number: number
  sync: number
  kind: 'export' | 'agents'
  agentId: string
  /** The query as requested. */
  query: ExportQuery
  /** True if the range is before any conversation, so that it can bill nothing. */
  isProbe: boolean
  atMs: number
  receivedAtMs: number
  /** Time by our clock: the landed page of the answer has the same. */
  sentAtMs: number
  /** Status of the answer; null if none arrived. */
  status: number | null
  /** Sessions that the vendor billed, and the maximum for one conversation. */
  billed: number
  dearest: number
  /** The conversations that were billed, or would be shown, each with its version. */
  records: { id: string; version: number }[]
  /** Ids in the answer as it arrived; null if no complete, readable page arrived. */
  received: string[] | null
  hasMore: boolean
  /** Usage in the answer as it arrived. */
  usage: Record<string, unknown> | null
  /** Behaviours that changed it. */
  spoilt: BehaviourKind[]
}

export interface TransportState {
  vendor: VendorModel
  behaviours: readonly Behaviour[]
  memories: Memory[]
  draws: Draws
  log: Served[]
  /** Index of the running sync. */
  sync: number
  /** Time from which no behaviour is active, ms. */
  behavesFromMs: number
}

export const newTransportState = (
  vendor: VendorModel,
  behaviours: readonly Behaviour[],
  seed: number,
): TransportState => ({
  vendor,
  behaviours,
  memories: behaviours.map(newMemory),
  draws: drawsOf(seed),
  log: [],
  sync: 0,
  behavesFromMs: Number.POSITIVE_INFINITY,
})

const LATENCY_MS = 200
const TIMEOUT_MS = 60_000
const FIRST_YEARS_MS = Date.UTC(2002, 0)

const ERRORS: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  404: 'NOT_FOUND',
  429: 'TOO_MANY_REQUESTS',
}

const errorBody = (status: number) => ({ message: `status ${status}`, code: ERRORS[status] ?? 'FORBIDDEN', issues: [] })

/** Returns the behaviours that may change the answer. */
function activeAt({ behaviours, memories, draws, vendor, behavesFromMs }: TransportState, atMs: number) {
  if (atMs >= behavesFromMs) return []
  return behaviours.flatMap((behaviour, index) => {
    const memory = memories[index]!
    const active = isActive(behaviour, atMs - vendor.options.startMs, memory)
    return active && (behaviour.share === undefined || draws.chance(behaviour.share)) ? [{ behaviour, memory }] : []
  })
}

type Active = ReturnType<typeof activeAt>

/** Returns the export's answer and its bill. */
function answerExport(
  state: TransportState,
  active: Active,
  draft: Draft,
): { billed: number; spoilt: Set<BehaviourKind> } {
  const { vendor } = state
  const spoilt = new Set<BehaviourKind>()
  const apply = (stage: Parameters<typeof spoil>[0]) => {
    for (const given of active) {
      if (!spoil(stage, draft, { ...given, vendor })) continue
      if (!spoilt.has(given.behaviour.kind)) given.memory.shown += 1
      spoilt.add(given.behaviour.kind)
    }
  }
  apply('before')
  const isCached = spoilt.has('cached')
  if (draft.fate === 'unsent' || isCached) return { billed: 0, spoilt }
  const left = vendor.remainingHour(draft.atMs)
  if (left <= 0) draft.status = 429
  vendor.count(draft.atMs)
  if (draft.status !== 200) return { billed: 0, spoilt }
  if (!vendor.hasAgent(draft.agentId)) {
    draft.status = 404
    return { billed: 0, spoilt }
  }
  apply('select')
  draft.page = vendor.select(draft.agentId, draft.query, draft.viewMs, draft.shift)
  apply('page')
  const { records, scanned, hasMore, nextCursor } = draft.page
  const billed =
    draft.status === 200 || draft.bills ? records.reduce((sum, one) => sum + billOf(one, draft.viewMs), 0) : 0
  vendor.bill(draft.agentId, billed, draft.atMs)
  if (draft.status !== 200) return { billed, spoilt }
  const { asked } = draft
  draft.body = {
    success: true,
    message: `${records.length} conversations`,
    data: records.map(one => vendor.record(one, draft.viewMs)),
    usage: vendor.usage(billed, draft.atMs),
    rateLimit: { requestsPerHour: vendor.options.requestsPerHour, remainingHour: vendor.remainingHour(draft.atMs) },
    hasMore,
    nextCursor,
    limit: asked.limit,
    mode: asked.ids ? 'selected' : 'paginated',
    scannedConvoCount: scanned,
    source: 'mirror',
  }
  apply('answer')
  return { billed, spoilt }
}

function answerAgents({ vendor }: TransportState, active: Active, parameters: URLSearchParams) {
  const kindOf = (kind: BehaviourKind) => active.find(({ behaviour }) => behaviour.kind === kind)
  const [short, doubled, unpaged] = [kindOf('agents-short'), kindOf('agents-doubled'), kindOf('agents-unpaged')]
  const spoilt = [short, doubled, unpaged].flatMap(one => (one ? [one] : []))
  for (const { memory } of spoilt) memory.shown += 1
  const all = vendor.options.agents.map(({ id, title }) => ({ ID: id, title }))
  const some = short ? all.slice(0, short.behaviour.value ?? 0) : all
  const listed = doubled ? some.flatMap(agent => [agent, agent]) : some
  const [page, limit] = [Number(parameters.get('page') ?? 1), Number(parameters.get('limit') ?? 50)]
  if (unpaged) return { body: { agents: listed.slice(0, limit), starredAgents: [] }, spoilt }
  const agents = listed.slice((page - 1) * limit, page * limit)
  const hasMore = page * limit < listed.length
  return { body: { agents, starredAgents: [], total: some.length, page, limit, hasMore }, spoilt }
}

const isText = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

/** Returns the ids in a body if a client can read it as a page. */
function readable(text: string): Pick<Served, 'received' | 'usage' | 'hasMore'> {
  const nothing = { received: null, usage: null, hasMore: false }
  try {
    const body = JSON.parse(text) as Record<string, unknown>
    if (!Array.isArray(body.data) || body.success === false) return nothing
    const received = body.data.flatMap(({ ID }) => (isText(ID) ? [String(ID)] : []))
    return { received, usage: (body.usage ?? null) as Served['usage'], hasMore: body.hasMore === true }
  } catch {
    return nothing
  }
}

/** Context of one request of a process. */
export interface Passage {
  /** Returns the time of the process's clock, ms. */
  now(): number
  /** Waits this long, by the true clock. */
  wait(ms: number): Promise<void>
  /** Called before a request is sent and before its answer arrives; never resolves if the process dies there. */
  mayDie(): Promise<void>
  trueNow(): number
}

function newDraft(agentId: string, parameters: URLSearchParams, address: string, atMs: number): Draft {
  const asked = exportQuery(parameters)
  const page = { records: [], scanned: 0, hasMore: false, nextCursor: null }
  return {
    ...{ agentId, asked, query: { ...asked }, address, atMs, viewMs: atMs, shift: 0, page },
    ...{ status: 200, bills: false, body: {}, text: null, dateMs: atMs, retryAfter: null, fate: 'answered' },
  }
}

const EMPTY_QUERY = exportQuery(new URLSearchParams())

export function modelTransport(state: TransportState, passage: Passage): Transport {
  const { vendor } = state

  async function send(address: string): Promise<Sent> {
    await passage.mayDie()
    const sentAtMs = passage.now()
    const url = new URL(address, 'http://vendor.test')
    const atMs = passage.trueNow()
    const active = activeAt(state, atMs)
    const isAgents = url.pathname === '/v3/agents/search'
    const agentId = isAgents ? '' : decodeURIComponent(url.pathname.split('/')[3]!)
    const draft = newDraft(agentId, url.searchParams, address, atMs)
    let billed = 0
    let spoilt: BehaviourKind[] = []
    if (isAgents) {
      const account = active.filter(({ behaviour }) => behaviour.agentId === undefined)
      const answer = answerAgents(state, account, url.searchParams)
      draft.body = answer.body
      const around = account.filter(
        ({ behaviour: { kind, word } }) =>
          kind === 'date' || (kind === 'unreachable' && word === 'all') || (kind === 'refused' && word === 'all'),
      )
      for (const given of around)
        for (const stage of ['before', 'answer'] as const) spoil(stage, draft, { ...given, vendor })
      spoilt = [...answer.spoilt, ...around].map(({ behaviour }) => behaviour.kind)
    } else {
      const answer = answerExport(state, active, draft)
      billed = answer.billed
      spoilt = [...answer.spoilt]
    }
    const text = draft.text ?? JSON.stringify(draft.status === 200 ? draft.body : errorBody(draft.status))
    const arrives = draft.fate === 'answered'
    const served: Served = {
      number: state.log.length,
      sync: state.sync,
      kind: isAgents ? 'agents' : 'export',
      agentId,
      query: isAgents ? EMPTY_QUERY : draft.asked,
      isProbe: !isAgents && draft.asked.ids === null && draft.asked.toMs < FIRST_YEARS_MS,
      atMs,
      receivedAtMs: atMs,
      sentAtMs,
      status: arrives || draft.fate === 'cut' ? draft.status : null,
      billed,
      dearest: billed === 0 ? 0 : Math.max(0, ...draft.page.records.map(one => billOf(one, draft.viewMs))),
      records: draft.page.records.map(one => ({ id: one.id, version: versionOf(one, draft.viewMs) })),
      ...(arrives && draft.status === 200 && !isAgents
        ? readable(text)
        : { received: null, usage: null, hasMore: false }),
      spoilt,
    }
    state.log.push(served)
    await passage.wait(draft.fate === 'timeout' ? TIMEOUT_MS : draft.fate === 'unsent' ? 1 : LATENCY_MS)
    await passage.mayDie()
    served.receivedAtMs = passage.trueNow()
    const receivedAtMs = passage.now()
    if (!arrives && draft.fate !== 'cut') {
      const cause = draft.fate === 'timeout' ? ('timeout' as const) : ('network' as const)
      const reason = draft.fate === 'unsent' ? 'ECONNREFUSED' : draft.fate === 'timeout' ? 'timeout' : 'ECONNRESET'
      return { sentAtMs, receivedAtMs, exchange: null, breakdown: { cause, reason, unsent: draft.fate === 'unsent' } }
    }
    const bytes = Buffer.from(text)
    const exchange: Exchange = {
      status: draft.status,
      body: draft.fate === 'cut' ? bytes.subarray(0, bytes.length / 2) : bytes,
      contentType: 'application/json',
      contentEncoding: null,
      serverDateMs: draft.dateMs === null ? null : Math.floor(draft.dateMs / 1_000) * 1_000,
      retryAfterMs: draft.retryAfter === null ? null : Number(draft.retryAfter) * 1_000,
      sentAtMs,
      receivedAtMs,
    }
    const breakdown = draft.fate === 'cut' ? { cause: 'network' as const, reason: 'ECONNRESET' } : null
    return { sentAtMs, receivedAtMs, exchange, breakdown }
  }

  return { send: ({ sent }) => send(sent), close: () => Promise.resolve() }
}
