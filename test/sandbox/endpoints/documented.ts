// The endpoints of the API document, and a request for each that succeeds.
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { firstAgent } from '../caller.ts'
import { resources } from './writer.ts'

/** The endpoints of sections 4.1 to 4.16, in the document's order. */
export const DOCUMENTED = [
  'POST /v3/agents/{agentId}/tools',
  'GET /v3/agents/{agentId}/tools',
  'POST /v3/agents/{agentId}/variables',
  'GET /v3/agents/{agentId}/variables',
  'GET /v3/agents/{agentId}/audit-log',
  'PATCH /v3/workspaces/{id}',
  'GET /v3/agents/{agentId}/custom-metrics/{metricId}',
  'PUT /v3/agents/{agentId}/custom-metrics/{metricId}',
  'GET /v3/voices',
  'GET /v3/workspaces/{workspaceId}/crawler/jobs/{jobId}/pages/{pageId}',
  'DELETE /v3/workspaces/{workspaceId}/crawler/jobs/{jobId}',
  'GET /v3/agents/{agentId}/convos/export',
  'GET /v3/orgs/{orgId}',
  'GET /v3/orgs/{orgId}/teams',
  'DELETE /v3/orgs/{orgId}',
  'GET /v3/agents/search',
]

/** An address that exists; deletions come last in the tests. */
export async function addressOf(sandbox: Sandbox, path: string): Promise<string> {
  const { crawlerJobs } = await resources(sandbox)
  const ids: Record<string, string> = {
    agentId: firstAgent(sandbox),
    metricId: 'met_quote',
    id: 'ws_demo',
    workspaceId: 'ws_demo',
    jobId: crawlerJobs[0]!.id,
    pageId: crawlerJobs[0]!.pages[0]!,
    orgId: 'org_alpha',
  }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!)
}

/** By method and path. */
export const BODIES: Record<string, unknown> = {
  'POST /v3/agents/{agentId}/tools': { tool: { name: 'a', description: 'b' } },
  'POST /v3/agents/{agentId}/variables': { variable: { key: 'a' } },
  'PATCH /v3/workspaces/{id}': { updates: {} },
  'PUT /v3/agents/{agentId}/custom-metrics/{metricId}': { metric: {} },
}
