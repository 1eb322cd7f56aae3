// Requests a page of voices from a sandbox.
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { Voice } from '../../../src/sandbox/world/voices.ts'
import { type Answered, ask } from './writer.ts'

interface Listed {
  total: number
  limit: number
  offset: number
  providersQueried: string[]
  providersFailed: { provider: string; error: string }[]
  voices: Voice[]
}

export function askVoices(sandbox: Sandbox, params: Record<string, string | number> = {}): Promise<Answered<Listed>> {
  const query = Object.entries(params).map(([name, value]): [string, string] => [name, String(value)])
  return ask<Listed>(sandbox, 'GET', `/v3/voices?${new URLSearchParams(query)}`)
}
