// Starts sandboxes for tests and calls them over HTTP, as any client would.
import { onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { startSandbox } from '../../src/sandbox/server.ts'

export const START_MS = Date.UTC(2026, 5, 1, 12)
export const DAY = 86_400_000
const TOKEN = 'test-token'

export type Params = Record<string, string | number>

export interface ExportBody {
  success: boolean
  message: string
  data: ({ ID: string; ts?: number } & Record<string, unknown>)[]
  usage: {
    periodKey: string
    billableUsedThisRequest: number
    billableUsedThisPeriod: number
    includedQuota: number
    billableRemainingThisPeriod: number
    overageUsedThisPeriod: number
    overagePacksCharged: number
    exportRequestCount: number
    summary: string
    logId: string
  }
  rateLimit: { requestsPerHour: number; remainingHour: number }
  hasMore: boolean
  nextCursor: string | null
  limit: number
  mode: string
  scannedConvoCount: number
  source: string
  query: { sort: string; fromTs: number | null; toTs: number | null }
}

export interface ErrorBody {
  message: string
  code: string
  issues: { message: string }[]
}

/** A sandbox with a stopped clock, closed when the test ends. */
export async function open(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({
    port: 0,
    token: TOKEN,
    startMs: START_MS,
    speed: 0,
    conversations: 300,
    ...options,
  })
  onTestFinished(() => sandbox.close())
  return sandbox
}

export function call(sandbox: Sandbox, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${sandbox.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, ...init })
}

export function exportPath(agentId: string, params: Params = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) query.set(name, String(value))
  return `/v3/agents/${agentId}/convos/export?${query}`
}

export async function exportPage(sandbox: Sandbox, agentId: string, params: Params = {}): Promise<ExportBody> {
  const response = await call(sandbox, exportPath(agentId, params))
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as ExportBody
}

export async function refusal(sandbox: Sandbox, path: string, init?: RequestInit) {
  const response = await call(sandbox, path, init)
  return { status: response.status, headers: response.headers, body: (await response.json()) as ErrorBody }
}

/** Requests all pages of a query; calls `between` after each page. */
export async function exportAll(
  sandbox: Sandbox,
  agentId: string,
  params: Params = {},
  between: (page: number) => void = () => {},
): Promise<ExportBody[]> {
  const pages: ExportBody[] = []
  let cursor: string | null = null
  do {
    const page: ExportBody = await exportPage(sandbox, agentId, { ...params, ...(cursor === null ? {} : { cursor }) })
    pages.push(page)
    between(pages.length)
    cursor = page.nextCursor
  } while (cursor !== null)
  return pages
}

export function idsOf(pages: readonly ExportBody[]): string[] {
  return pages.flatMap(page => page.data.map(record => record.ID))
}

/** The conversations that an export must contain, according to the generator. */
export function exportable(sandbox: Sandbox, agentId: string, nowMs = sandbox.clock.now()) {
  return [...sandbox.world.conversations(agentId, nowMs)].filter(conversation => conversation.billableSessions > 0)
}

export function firstAgent(sandbox: Sandbox): string {
  return sandbox.world.agentIds()[0]!
}
