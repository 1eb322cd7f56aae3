// All requests of a workspace other than exports: method, path and parameters, in order.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { TOKEN } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

/** A server that forwards every request to the sandbox and records those for agents, organizations and teams. */
async function recorder(upstream: string, requests: string[]): Promise<string> {
  const server = createServer(async (request, response) => {
    if (!/\/(convos\/export|tools|variables|audit-log|voices)$/.test(request.url!.split('?')[0]!))
      requests.push(`${request.method} ${request.url}`)
    const { method, headers } = request
    const answer = await fetch(`${upstream}${request.url}`, {
      method: method!,
      headers: { authorization: headers.authorization ?? '' },
    })
    response.writeHead(answer.status, { date: answer.headers.get('date') ?? '' }).end(await answer.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const remove = ({ url }: Sandbox, id: string) =>
  fetch(`${url}/v3/orgs/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${TOKEN}` } })

const search = (page: number) => `GET /v3/agents/search?workspaceId=ws_demo&page=${page}&limit=100&sortBy=firstCreated`
const organization = (id: string) => [`GET /v3/orgs/${id}`, `GET /v3/orgs/${id}/teams?page=1&limit=100`]

describe('the requests for agents, organizations and teams', () => {
  it('are repeated daily, and show when an organization is gone', async () => {
    const requests: string[] = []
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, agents: 4, readings: { 'agent-page': '3' } },
      settings: { resources: RESOURCE_NAMES, organizations: ['org_beta', 'org_nobody', 'a/b c', 'org_alpha'] },
      through: sandbox => recorder(sandbox.url, requests),
    })
    /** Syncs without exports and returns the requests of that sync. */
    const sync = async () => {
      requests.length = 0
      await simulated.sync({ maxRequests: 0 })
      return [...requests]
    }
    const listing = [search(1), search(2)]
    const unknown = ['GET /v3/orgs/org_nobody', 'GET /v3/orgs/a%2Fb%20c']
    expect(await sync()).toEqual([...listing, ...organization('org_beta'), ...unknown, ...organization('org_alpha')])
    expect(await sync()).toEqual(listing)
    await remove(simulated.sandbox, 'org_beta')
    simulated.advance(DAY + HOUR)
    expect(await sync()).toEqual([...listing, ...unknown, ...organization('org_alpha'), 'GET /v3/orgs/org_beta'])
    expect(await sync()).toEqual(listing)
  })

  it('drop parameters that the vendor refuses, and continue after short pages', async () => {
    const requests: string[] = []
    const simulated = await simulatedApp({
      sandbox: {
        conversations: 0,
        readings: { 'agent-params': 'refused', 'team-page': '1', 'agent-totals': 'neither' },
      },
      settings: { resources: RESOURCE_NAMES, organizations: ['org_alpha'] },
      through: sandbox => recorder(sandbox.url, requests),
    })
    await simulated.sync({ maxRequests: 0 })
    expect(requests).toEqual([
      search(1),
      'GET /v3/agents/search',
      'GET /v3/orgs/org_alpha',
      'GET /v3/orgs/org_alpha/teams?page=1&limit=100',
      'GET /v3/orgs/org_alpha/teams?page=2&limit=100',
    ])
  })

  it('drop parameters that the vendor refuses for teams', async () => {
    const requests: string[] = []
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, readings: { 'team-params': 'refused' } },
      settings: { resources: RESOURCE_NAMES, organizations: ['org_alpha'] },
      through: sandbox => recorder(sandbox.url, requests),
    })
    await simulated.sync()
    expect(requests).toEqual([search(1), ...organization('org_alpha'), 'GET /v3/orgs/org_alpha/teams'])
  })
})
