// Lands pages of given records, with inspected heads as in production.
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import {
  compileInspection,
  emptyNotes,
  isTooDeepAround,
  TOO_DEEP_AROUND,
} from '../../src/catalog/inspection/inspect.ts'
import { CATALOG_VERSION } from '../../src/catalog/records.ts'
import { agent } from '../../src/catalog/resources/agents.ts'
import type { DeclaredResource } from '../../src/catalog/resources/resources.ts'
import { VOICES } from '../../src/catalog/resources/voices.ts'
import { openWindow, type PageFacts, type Window } from '../../src/core/planning/windows.ts'
import type { ReportedBill, ReportedRateLimit, ReportedUsage } from '../../src/core/quota/reported-usage.ts'
import type { Landing } from '../../src/landing/landing.ts'
import type { PageHead } from '../../src/landing/page.ts'
import type { LoadablePage } from '../../src/warehouse/load/load-input.ts'

export const AGENT = 'agent-1'

/** Request time of pages, unless a test sets another. */
export const SENT_AT_MS = Date.UTC(2026, 10, 20, 9)

/** A usage report without any count. */
export const NO_USAGE = {
  periodKey: null,
  billableUsedThisRequest: null,
  billableUsedThisPeriod: null,
  includedQuota: null,
  billableRemainingThisPeriod: null,
  overageUsedThisPeriod: null,
  overagePacksCharged: null,
  exportRequestCount: null,
}

const inspectConversations = compileInspection(conversation)
const inspectAgents = compileInspection(agent)

/** Every landed window has a unique name, because a name can be used only once. */
let windows = 0

export function freshWindow(parts: Partial<Omit<Window, 'name'>> = {}): Window {
  windows += 1
  const openedAtMs = SENT_AT_MS + windows
  return openWindow({ agentId: AGENT, kind: 'full', fromSec: null, toSec: 1_763_600_000, openedAtMs, ...parts })
}

export interface ConversationPage {
  /** Records of the page, or of `body` if it is given. */
  records?: readonly unknown[]
  /** The body as sent, if it is not simply `{ data: records }`. */
  body?: string | Uint8Array
  window?: Window
  sentAtMs?: number
  catalogVersion?: number
  facts?: Partial<PageFacts>
  usage?: ReportedUsage
  bill?: ReportedBill
  rateLimit?: ReportedRateLimit
}

const bytesOf = (body: string | Uint8Array): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body)

async function landed(landing: Landing, head: PageHead, body: Uint8Array): Promise<LoadablePage> {
  const address = await landing.land(head, body)
  return { address, head: await landing.head(address) }
}

function headOf(
  parts: Pick<PageHead, 'place' | 'bodyBytes' | 'notes'> & Partial<PageHead>,
  sentAtMs: number,
): PageHead {
  return {
    v: 1,
    catalogVersion: CATALOG_VERSION,
    workspaceId: 'ws',
    run: 'run-1',
    lease: null,
    request: { path: '/v3/agents', query: {} },
    status: 200,
    sentAtMs,
    receivedAtMs: sentAtMs + 250,
    sentAtServerMs: sentAtMs,
    lastPage: false,
    facts: null,
    usage: null,
    rateLimit: null,
    ...parts,
  }
}

function factsOf(page: ConversationPage, window: Window, returned: number): PageFacts {
  return {
    window,
    generation: 1,
    sequence: 1,
    limit: 100,
    atMs: 0,
    cursorIn: null,
    cursorOut: null,
    hasMore: false,
    returned,
    scanned: returned,
    billed: returned,
    lastTsMs: null,
    missing: [],
    ...page.facts,
  }
}

/** Lands one page of conversations. */
export async function landConversations(landing: Landing, page: ConversationPage): Promise<LoadablePage> {
  const body = bytesOf(page.body ?? JSON.stringify({ success: true, data: page.records }))
  const parsed = JSON.parse(new TextDecoder().decode(body)) as { data: unknown[] }
  const { data } = parsed
  const notes = inspectConversations(data, page.sentAtMs ?? SENT_AT_MS)
  if (isTooDeepAround(parsed, 'data')) notes.awkward.push(TOO_DEEP_AROUND)
  const window = page.window ?? freshWindow()
  const facts = factsOf(page, window, data.length)
  const head = headOf(
    {
      catalogVersion: page.catalogVersion ?? CATALOG_VERSION,
      place: {
        stream: 'conversations',
        agentId: window.agentId,
        window: window.name,
        generation: facts.generation,
        sequence: facts.sequence,
      },
      bodyBytes: body.length,
      facts,
      usage: page.usage ?? null,
      ...(page.bill && { bill: page.bill }),
      rateLimit: page.rateLimit ?? null,
      notes,
    },
    page.sentAtMs ?? SENT_AT_MS,
  )
  return landed(landing, head, body)
}

export interface AgentsPage {
  agents: unknown[]
  starredAgents?: unknown[]
  starredIds?: string[]
  /** JSON of one more agent. */
  text?: string
  sentAtMs?: number
  lastPage?: boolean
  sequence?: number
}

/** Lands one page of a listing of agents. */
export async function landAgents(landing: Landing, listing: AgentsPage): Promise<LoadablePage> {
  const { agents, starredAgents = [], starredIds, text, sentAtMs = SENT_AT_MS, lastPage = true, sequence = 1 } = listing
  const entries = [...agents.map(entry => JSON.stringify(entry)), ...(text === undefined ? [] : [text])]
  const body = Buffer.from(`{"agents":[${entries}],"starredAgents":${JSON.stringify(starredAgents)}}`)
  const window = freshWindow().name
  const place = { stream: 'agents' as const, agentId: null, window, generation: 1, sequence }
  const notes = inspectAgents([...agents, ...starredAgents])
  const parts = { place, bodyBytes: body.length, notes, lastPage, ...(starredIds && { starredIds }) }
  return landed(landing, headOf(parts, sentAtMs), body)
}

interface OfOrganization {
  /** The requested organization. */
  id: string
  sentAtMs?: number
}

const ofOrganization = (
  landing: Landing,
  stream: 'organizations' | 'teams',
  { id, sentAtMs = SENT_AT_MS, ...page }: OfOrganization & { body: string | Uint8Array } & Partial<PageHead>,
): Promise<LoadablePage> => {
  const body = bytesOf(page.body)
  const place = { stream, agentId: null, window: freshWindow().name, generation: 1, sequence: 1 }
  const parts = { ...page, place, requestedId: id, bodyBytes: body.length, notes: emptyNotes() }
  return landed(landing, headOf({ lastPage: true, ...parts }, sentAtMs), body)
}

/** Lands an answer to a request for an organization: `data`, or a 404. */
export const landOrganization = (
  landing: Landing,
  { data, ...request }: OfOrganization & { data: unknown | null },
): Promise<LoadablePage> =>
  ofOrganization(landing, 'organizations', {
    ...request,
    status: data === null ? 404 : 200,
    body: JSON.stringify(data === null ? { message: 'Not found', code: 'NOT_FOUND' } : { success: true, data }),
  })

/** Lands an answer to a request for a custom metric of the agent. */
export const landMetric = (
  landing: Landing,
  { metric, sentAtMs = SENT_AT_MS }: { metric: { id: string; key: string; type: string }; sentAtMs?: number },
): Promise<LoadablePage> => {
  const body = Buffer.from(JSON.stringify({ success: true, metric }))
  const window = freshWindow().name
  const place = { stream: 'custom_metrics' as const, agentId: null, window, generation: 1, sequence: 1 }
  const parts = { place, requestedId: metric.id, requestedAgentId: AGENT, bodyBytes: body.length, lastPage: true }
  return landed(landing, headOf({ ...parts, notes: emptyNotes() }, sentAtMs), body)
}

/** Lands a list of voices from providers that all answered. */
export const landVoices = (
  landing: Landing,
  {
    voices,
    sentAtMs = SENT_AT_MS,
  }: { voices: { provider: string; voiceId: string; name: string }[]; sentAtMs?: number },
): Promise<LoadablePage> => {
  const providersQueried = [...new Set(voices.map(({ provider }) => provider))]
  const answer = { total: voices.length, providersQueried, providersFailed: [], voices }
  const body = Buffer.from(JSON.stringify(VOICES.prepare(answer)))
  const place = { stream: 'voices' as const, agentId: null, window: freshWindow().name, generation: 1, sequence: 1 }
  return landed(landing, headOf({ place, bodyBytes: body.length, lastPage: true, notes: emptyNotes() }, sentAtMs), body)
}

/** Lands an answer with one record of any resource. */
export const landRecord = (
  landing: Landing,
  {
    resource,
    record,
    ids = [],
    ...request
  }: { resource: DeclaredResource; record: unknown; ids?: string[] } & Pick<
    PageHead,
    'requestedId' | 'requestedAgentId'
  >,
): Promise<LoadablePage> => {
  const { stream, envelope, prepare } = resource
  const sent = { [envelope[0]!]: resource.paging === 'record' ? record : [record] }
  const body = Buffer.from(JSON.stringify(prepare ? prepare(sent, ids) : sent))
  const place = { stream, agentId: null, window: freshWindow().name, generation: 1, sequence: 1 }
  const notes = compileInspection(resource.record)([record])
  const parts = { ...request, place, bodyBytes: body.length, lastPage: true, notes }
  return landed(landing, headOf(parts, SENT_AT_MS), body)
}

/** Lands one page of an organization's teams. */
export const landTeams = (
  landing: Landing,
  { teams, ...request }: OfOrganization & { teams: unknown[]; lastPage?: boolean },
): Promise<LoadablePage> =>
  ofOrganization(landing, 'teams', { ...request, body: JSON.stringify({ success: true, teams }) })
