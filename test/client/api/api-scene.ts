// A sandbox and a client of its API; both are closed when the test ends.
import { onTestFinished } from 'vitest'
import { type ApiClient, createApiClient } from '../../../src/client/api/api-client.ts'
import type { VendorClientOptions } from '../../../src/client/caller.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { open, type Resources, resources } from '../../sandbox/caller.ts'
import { type ScriptedAnswer, type ScriptedServer, startScriptedServer } from '../scripted-server.ts'

interface ApiScene {
  sandbox: Sandbox
  api: ApiClient
  ids: Resources
}

export async function openApi(
  options: Partial<SandboxOptions> = {},
  settings: Partial<VendorClientOptions> = {},
): Promise<ApiScene> {
  const sandbox = await open({ conversations: 30, ...options })
  const api = createApiClient({ apiUrl: sandbox.url, token: 'test-token', sleep: async () => {}, ...settings })
  onTestFinished(() => api.close())
  return { sandbox, api, ids: await resources(sandbox) }
}

/** Returns a client of a server with scripted answers. */
export const scriptedApi = (...script: ScriptedAnswer[]) => scriptedApiWith({}, ...script)

export async function scriptedApiWith(
  settings: Partial<VendorClientOptions>,
  ...script: ScriptedAnswer[]
): Promise<{ api: ApiClient; server: ScriptedServer }> {
  const server = await startScriptedServer(...script)
  const api = createApiClient({ apiUrl: server.url, token: 'tok_4f9Kq2Zs8vLw', sleep: async () => {}, ...settings })
  onTestFinished(async () => {
    await server.stop()
    await api.close()
  })
  return { api, server }
}
