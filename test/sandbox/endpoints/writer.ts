// Sends requests with JSON bodies to a sandbox.
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { call } from '../caller.ts'

export interface Answered<T> {
  status: number
  body: T
}

export async function ask<T = Record<string, unknown>>(
  sandbox: Sandbox,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered<T>> {
  const headers = { authorization: 'Bearer test-token', 'content-type': 'application/json' }
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
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
