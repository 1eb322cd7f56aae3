// Starts sandboxes for tests and calls them over HTTP, as any client would.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { listening } from '../ports.ts'

export const START_MS = Date.UTC(2026, 5, 1, 12)
export const DAY = 86_400_000
const TOKEN = 'test-token'
const DEFAULTS = { port: 0, token: TOKEN, startMs: START_MS, speed: 0, conversations: 300 }

export type Params = Record<string, string | number>

/** Opens a sandbox with a stopped clock, closed when the test ends. */
export async function open(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ ...DEFAULTS, ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** Opens a sandbox for all tests of a block. */
export function shared(options: Partial<SandboxOptions> = {}): () => Sandbox {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox({ ...DEFAULTS, ...options })
  })
  afterAll(() => sandbox.close())
  return () => sandbox
}

export function call(sandbox: Sandbox, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${sandbox.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, ...init })
}

export interface Answered<T> {
  status: number
  body: T
}

/** Sends a request, with a JSON body if one is given. */
export async function ask<T = Record<string, unknown>>(
  sandbox: Sandbox,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered<T>> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const response = await call(sandbox, path, { method, headers, ...(body !== undefined && { body: sent }) })
  return { status: response.status, body: (await response.json()) as T }
}

export interface Resources {
  agents: string[]
  metrics: { agentId: string; id: string; isSystem: boolean }[]
  crawlerJobs: { id: string; pages: string[] }[]
  organizations: string[]
}

export const resources = async (sandbox: Sandbox): Promise<Resources> =>
  (await ask<Resources>(sandbox, 'GET', '/_sandbox/resources')).body

export interface ExportBody {
  message: string
  data: ({ ID: string; ts?: number } & Record<string, unknown>)[]
  usage: Record<'periodKey' | 'summary' | 'logId', string> & Record<string, number>
  rateLimit: { requestsPerHour: number; remainingHour: number }
  hasMore: boolean
  nextCursor: string | null
  limit: number
  mode: string
  scannedConvoCount: number
  source: string
  query: { sort: string; fromTs: number | null; toTs: number | null }
}

export const firstAgent = (sandbox: Sandbox): string => sandbox.world.agentIds()[0]!

export const exportPath = (agentId: string, params: Params = {}): string =>
  `/v3/agents/${agentId}/convos/export?${new URLSearchParams(params as Record<string, string>)}`

/** Exports a page of the first agent. */
export async function exportPage(sandbox: Sandbox, params: Params = {}): Promise<ExportBody> {
  const response = await call(sandbox, exportPath(firstAgent(sandbox), params))
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as ExportBody
}

/** Exports all pages of the first agent, until the vendor says that there are no more. */
export async function exportAll(sandbox: Sandbox, params: Params = {}): Promise<ExportBody[]> {
  const pages: ExportBody[] = []
  for (let cursor: string | null | undefined; pages.length < 300; cursor = pages.at(-1)!.nextCursor) {
    pages.push(await exportPage(sandbox, { ...params, ...(cursor && { cursor }) }))
    if (!pages.at(-1)!.hasMore) return pages
  }
  throw new Error('the pages do not end')
}

export const idsOf = (pages: readonly ExportBody[]): string[] => pages.flatMap(({ data }) => data.map(({ ID }) => ID))

/** Returns the conversations of the first agent that an export must contain, according to the generator. */
export const exportable = (sandbox: Sandbox, nowMs = sandbox.clock.now()) =>
  [...sandbox.world.conversations(firstAgent(sandbox), nowMs)].filter(({ billableSessions }) => billableSessions > 0)

export interface Received {
  event: string
  createdAt: number
  workspaceSecret: string
  [field: string]: unknown
}

export interface Receiver {
  url: string
  received: Received[]
  requests: { method: string | undefined; contentType: string | undefined }[]
  /** Status of every later answer. */
  status: number
}

/** Opens a receiver of events, which is closed when the test ends. */
export async function openReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], requests: [], status: 200 }
  const server = createServer(async (request, response) => {
    receiver.received.push(JSON.parse(await text(request)) as Received)
    receiver.requests.push({ method: request.method, contentType: request.headers['content-type'] })
    response.writeHead(receiver.status).end()
  })
  receiver.url = `http://127.0.0.1:${await listening(server)}/hooks`
  return receiver
}
