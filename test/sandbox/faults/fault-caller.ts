// Calls a sandbox that serves faults, and reads its control endpoints.
import type { FaultSettings } from '../../../src/sandbox/faults/fault-settings.ts'
import type { ReportedFaults } from '../../../src/sandbox/faults/faults.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { Params } from '../caller.ts'
import { call, exportPath, firstAgent, open } from '../caller.ts'

/** Opens a sandbox that has one agent and serves these faults. */
export function openWith(faults: FaultSettings, options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  return open({ agents: 1, faults, ...options })
}

export function ask(sandbox: Sandbox, params: Params = {}): Promise<Response> {
  return call(sandbox, exportPath(firstAgent(sandbox), params))
}

/** Sends requests one after another; returns their statuses, 0 where there was no answer. */
export async function statuses(sandbox: Sandbox, requests: number): Promise<number[]> {
  const answers: number[] = []
  for (let request = 0; request < requests; request++) answers.push(await statusOf(ask(sandbox, { limit: 1 })))
  return answers
}

export async function statusOf(answer: Promise<Response>): Promise<number> {
  try {
    const response = await answer
    await response.text()
    return response.status
  } catch {
    return 0
  }
}

export async function control<T>(sandbox: Sandbox, name: string, body?: unknown): Promise<{ status: number; json: T }> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${sandbox.url}/_sandbox/${name}`, init)
  return { status: response.status, json: (await response.json()) as T }
}

export async function served(sandbox: Sandbox): Promise<ServedRequest[]> {
  return (await control<{ requests: ServedRequest[] }>(sandbox, 'requests')).json.requests
}

export async function faultReport(sandbox: Sandbox): Promise<ReportedFaults> {
  return (await control<ReportedFaults>(sandbox, 'faults')).json
}
