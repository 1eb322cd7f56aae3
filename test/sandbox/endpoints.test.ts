// Compares the sixteen endpoints with the API document, their answers, errors, access and writes.
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../src/sandbox/routes/router.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import {
  type Answered,
  ask,
  call,
  DAY,
  exportPage,
  firstAgent,
  open,
  openReceiver,
  resources,
  shared,
} from './caller.ts'
import { ENDPOINTS, ErrorBody } from './document.ts'

/** Returns an address that exists except for the given ids. */
async function addressOf(sandbox: Sandbox, path: string, other: Record<string, string> = {}): Promise<string> {
  const { crawlerJobs } = await resources(sandbox)
  const ids: Record<string, string> = {
    agentId: firstAgent(sandbox),
    metricId: 'met_quote',
    id: 'ws_demo',
    workspaceId: 'ws_demo',
    jobId: crawlerJobs[0]!.id,
    pageId: crawlerJobs[0]!.pages[0]!,
    orgId: 'org_alpha',
    ...other,
  }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!)
}

function expectRefused({ status, body }: Answered<unknown>, expected: number, request?: string): void {
  expect([request, status, ErrorBody.safeParse(body).error]).toEqual([request, expected, undefined])
}

describe('the routes', () => {
  it('are the documented ones', () => {
    const served = ROUTES.map(({ method, path }) => `${method} ${path}`)
    expect(served.toSorted()).toEqual(ENDPOINTS.map(({ name }) => name).toSorted())
  })
})

describe('an endpoint', () => {
  const deleted = shared({ conversations: 90 })
  const sandbox = shared({ conversations: 90 })

  it.each(ENDPOINTS)('$name answers as documented', async ({ name, body, answer }) => {
    const [method, path] = name.split(' ') as [string, string]
    const answered = await ask(deleted(), method, await addressOf(deleted(), path), body)
    expect(answered.status).toBe(200)
    // The search also returns fields that the document does not show.
    const shown = path.endsWith('search') ? pick(answered.body, 'agents', 'starredAgents') : answered.body
    expect(answer.safeParse(withoutNull(shown, 'nextCursor')).error).toBeUndefined()
  })

  it.each(ENDPOINTS)('$name refuses what is wrong, with the error body of section 7', async ({ name, body }) => {
    const [method, path] = name.split(' ') as [string, string]
    const address = await addressOf(sandbox(), path)
    const text = body && JSON.stringify(body)
    const refused = async (headers: Record<string, string>) => {
      const answer = await call(sandbox(), address, { method, headers, ...(text && { body: text }) })
      return { status: answer.status, body: await answer.json() }
    }
    for (const authorization of ['', 'Bearer wrong', 'Bearer test-toke', 'Basic test-token'])
      expectRefused(await refused({ authorization }), 401, authorization)
    expectRefused(await ask(sandbox(), 'OPTIONS', address), 405)
    expectRefused(await ask(sandbox(), method, `${address}/more`, body), 404)
    for (const [, id] of path.matchAll(/\{(\w+)\}/g)) {
      const other = await addressOf(sandbox(), path, { [id!]: 'nobody' })
      // We read the document so that a workspace other than the token's gets a 403.
      expectRefused(await ask(sandbox(), method, other, body), /^(id|workspaceId)$/.test(id!) ? 403 : 404, other)
    }
    if (body === undefined) return
    for (const wrong of ['', '{', '[]', '{}', '{"tool":1,"variable":1,"updates":1,"metric":1}'])
      expectRefused(await ask(sandbox(), method, address, wrong), 400, wrong)
    const [key, inner] = Object.entries(body)[0]!
    const unknown = await ask(sandbox(), method, address, { [key]: { ...inner, key: 'b', colour: 1 } })
    expect(unknown.status).toBe(200)
  })
})

const pick = (body: Record<string, unknown>, ...names: string[]) =>
  Object.fromEntries(names.map(name => [name, body[name]]))

const withoutNull = (body: Record<string, unknown>, name: string) =>
  body[name] === null ? Object.fromEntries(Object.entries(body).filter(([key]) => key !== name)) : body

describe('every route', () => {
  it('is logged by kind, and does not know a deleted agent', async () => {
    const sandbox = await open({ conversations: 9 })
    for (const { name, body } of ENDPOINTS) {
      const [method, path] = name.split(' ') as [string, string]
      const { kind } = ROUTES.find(route => route.method === method && route.path === path)!
      const address = await addressOf(sandbox, path)
      const { status } = await ask(sandbox, method, address, body)
      const { requests } = (await ask<{ requests: object[] }>(sandbox, 'GET', '/_sandbox/requests')).body
      expect([status, requests.at(-1)]).toMatchObject([200, { kind, method, path: address }])
    }
    sandbox.conditions.set({ gone: [firstAgent(sandbox)] })
    for (const { name, body } of ENDPOINTS.filter(({ name }) => name.includes('{agentId}'))) {
      const [method, path] = name.split(' ') as [string, string]
      expectRefused(await ask(sandbox, method, await addressOf(sandbox, path), body), 404, name)
    }
  })
})

describe('tools and variables', () => {
  const sandbox = shared({ conversations: 9 })
  const path = (resource: string, agent = 0) => `/v3/agents/${sandbox().world.agentIds()[agent]}/${resource}`
  const list = async (resource: string) => (await ask<{ data: object[] }>(sandbox(), 'GET', path(resource))).body.data

  it('need a name and a description, or a key that the agent does not have; a refusal changes nothing', async () => {
    const before = [await list('tools'), await list('variables')]
    for (const tool of [{ name: 'a' }, { description: 'b' }, { name: '', description: '' }])
      expectRefused(await ask(sandbox(), 'POST', path('tools'), { tool }), 400)
    for (const key of ['order_number', ' ', undefined])
      expectRefused(await ask(sandbox(), 'POST', path('variables'), { variable: { key } }), 400)
    expect([await list('tools'), await list('variables')]).toEqual(before)
    // Keys are unique within the agent (2.2): another agent may have the key.
    for (const [agent, status] of [
      [0, 200],
      [0, 400],
      [1, 200],
    ] as const)
      expect((await ask(sandbox(), 'POST', path('variables', agent), { variable: { key: 'plan' } })).status).toBe(
        status,
      )
  })
})

describe('custom metrics', () => {
  const sandbox = shared({ conversations: 60 })
  type Answer = { metric: Record<string, unknown> }
  const at = (id: string) => `/v3/agents/${firstAgent(sandbox())}/custom-metrics/${id}`
  const get = async (id: string) => (await ask<Answer>(sandbox(), 'GET', at(id))).body.metric
  const put = (id: string, metric: object) => ask<Answer>(sandbox(), 'PUT', at(id), { metric })

  it('change by the given fields only, options outlive another type, and exported values stay', async () => {
    const exported = async () => (await exportPage(sandbox(), { limit: 100 })).data.map(({ metrics }) => metrics)
    const before = await exported()
    let expected = await get('met_sentiment')
    const updates = [{ key: 'mood' }, { description: 'How it went' }, { options: ['up', 'down'] }, {}, { type: 'enum' }]
    for (const sent of updates) {
      expected = { ...expected, ...sent, updatedAtUNIX: expect.any(Number) }
      expect((await put('met_sentiment', sent)).body.metric).toEqual(expected)
      expect(await get('met_sentiment')).toEqual(expected)
    }
    expect((await put('met_sentiment', { type: 'number' })).body.metric).not.toHaveProperty('options')
    await put('met_sentiment', { type: 'enum' })
    expect(await get('met_sentiment')).toEqual(expected)
    expect(await exported()).toEqual(before)
  })
})

describe('the workspace', () => {
  it('changes by the given fields only, and not if the username is taken', async () => {
    const sandbox = await open({ conversations: 9 })
    const patch = (updates: object) =>
      ask<{ data: Record<string, unknown> }>(sandbox, 'PATCH', '/v3/workspaces/ws_demo', { updates })
    const before = (await patch({})).body.data
    const renamed = { workspaceName: 'Nørth', automaticBilling: true, marketplaceProfile: { username: 'ours' } }
    expect((await patch(renamed)).body.data).toEqual({ ...before, workspaceName: 'Nørth' })
    const taken = { workspaceName: 'New', marketplaceProfile: { username: 'nova-labs' } }
    expectRefused(await patch(taken), 409)
    const after = (await patch({ workspaceEmails: [] })).body.data
    expect(after).toEqual({ ...before, workspaceName: 'Nørth', workspaceEmails: [] })
  })
})

describe('a crawler job', () => {
  it('has pages with their text, or an error; deleted, it is gone with its pages', async () => {
    const sandbox = await open({ conversations: 9 })
    const [job, other] = (await resources(sandbox)).crawlerJobs
    const jobs = '/v3/workspaces/ws_demo/crawler/jobs'
    type Page = { data: { page: { failed: boolean; mdCharCount: number }; content: { scrapeResponse: object } } }
    const page = (id: string, pageId: string) => ask<Page>(sandbox, 'GET', `${jobs}/${id}/pages/${pageId}`)
    const found = await Promise.all(job!.pages.map(async id => (await page(job!.id, id)).body.data))
    for (const { page, content } of found) expect('markdown' in content.scrapeResponse).toBe(!page.failed)
    expect(new Set(found.map(({ page }) => page.failed))).toEqual(new Set([true, false]))
    await ask(sandbox, 'DELETE', `${jobs}/${job!.id}`)
    expectRefused(await page(job!.id, job!.pages[0]!), 404)
    expectRefused(await ask(sandbox, 'DELETE', `${jobs}/${job!.id}`), 404)
    expect((await page(other!.id, other!.pages[0]!)).status).toBe(200)
  })
})

describe('an organization', () => {
  it('belongs to the workspace; deleted, it is gone for good with its clients, and reported once', async () => {
    const receiver = await openReceiver()
    const sandbox = await open({ conversations: 3, workspaceId: 'ws_mine', webhooks: { url: receiver.url } })
    const { organizations } = await resources(sandbox)
    expect(organizations.length).toBeGreaterThan(4)
    for (const id of organizations) {
      const { body } = await ask(sandbox, 'GET', `/v3/orgs/${id}`)
      expect(body.data).toMatchObject({ ID: id, workspaceId: 'ws_mine' })
    }
    expect((await ask(sandbox, 'DELETE', '/v3/orgs/org_beta')).body.deletedClientsCount).toBe(3)
    sandbox.clock.advance(30 * DAY)
    for (const path of ['/v3/orgs/org_beta', '/v3/orgs/org_beta/teams', '/v3/orgs/'])
      expectRefused(await ask(sandbox, 'GET', path), 404, path)
    const reported = () => receiver.received.filter(({ organisationId }) => organisationId === 'org_beta')
    await expect
      .poll(reported, { timeout: 300_000 })
      .toMatchObject([{ event: 'organisation_deleted', operation: 'deleted' }])
  })
})
