// Each endpoint against the sandbox: what succeeds, and the errors that the API document states.
import { describe, expect, it } from 'vitest'
import type { ApiClient } from '../../../src/client/api/api-client.ts'
import type { ConversationFields } from '../../../src/client/api/records/conversation.ts'
import { ask, type Resources } from '../../sandbox/caller.ts'
import { failureOf } from '../vendor-fixture.ts'
import { openApi } from './api-scene.ts'

const WORKSPACE = 'ws_demo'

describe('what is written', () => {
  it('is read afterwards: a tool, a variable and its entry in the audit log, and a metric', async () => {
    const { api, ids } = await openApi()
    const { agentId, id: metricId } = ids.metrics.find(({ isSystem }) => !isSystem)!
    const tool = { name: 'Find an order', description: 'When asked for an order', serverUrlSecret: 'shh', channels: [] }
    const created = await api.createTool({ agentId, tool })
    expect(created.data).toMatchObject({ ...tool, agentId, id: expect.stringMatching(/^tool_/) })
    expect((await api.listTools({ agentId })).data).toContainEqual(created.data)
    const variable = { key: 'plan', value: { tier: [1, null] }, isGlobal: true }
    const { data } = await api.createVariable({ agentId, variable })
    expect(data).toMatchObject(variable)
    expect((await api.listVariables({ agentId })).data).toContainEqual(data)
    const { entries } = await api.getAuditLog({ agentId, limit: 200 })
    expect(entries).toContainEqual(expect.objectContaining({ agentId, field: `variables[${data.id}].value` }))
    const { metric } = await api.updateCustomMetric({ agentId, metricId, metric: { description: 'Revised' } })
    expect(metric).toMatchObject({ id: metricId, description: 'Revised' })
    expect((await api.getCustomMetric({ agentId, metricId })).metric).toEqual(metric)
    const updates = { workspaceName: 'North', marketplaceProfile: { username: 'north-team' } }
    const workspace = await api.updateWorkspace({ workspaceId: WORKSPACE, updates })
    expect(workspace.data).toMatchObject({ uid: WORKSPACE, workspaceName: 'North' })
  })

  it('is gone once it is deleted: an organization and a crawler job with its pages', async () => {
    const { api, ids } = await openApi()
    const [orgId, { id: jobId, pages }] = [ids.organizations[0]!, ids.crawlerJobs[0]!]
    const job = { workspaceId: WORKSPACE, jobId }
    const { data } = await api.getCrawlerPage({ ...job, pageId: pages[0]! })
    expect([data.page.id, data.content?.scrapeResponse?.urlsDiscovered]).toEqual([pages[0], expect.any(Array)])
    expect((await api.getOrganization({ orgId })).data.ID).toBe(orgId)
    const { teams, total } = await api.listTeams({ orgId, page: 1, limit: 1 })
    expect(teams.length).toBe(Math.min(1, total!))
    expect(await api.deleteCrawlerJob(job)).toMatchObject({ success: true })
    expect((await api.deleteOrganization({ orgId })).deletedClientsCount).toEqual(expect.any(Number))
    for (const gone of [
      api.getCrawlerPage({ ...job, pageId: pages[0]! }),
      api.deleteCrawlerJob(job),
      api.getOrganization({ orgId }),
      api.deleteOrganization({ orgId }),
    ])
      expect((await failureOf(gone)).code).toBe('API_NOT_FOUND')
  })
})

describe('a refusal', () => {
  const agentId = ({ agents }: Resources) => agents[0]!
  const system = ({ metrics }: Resources) => {
    const metric = metrics.find(({ isSystem }) => isSystem)!
    return { agentId: metric.agentId, metricId: metric.id }
  }

  it.each<[string, number, (api: ApiClient, ids: Resources) => Promise<unknown>, string]>([
    ['API_NOT_FOUND', 404, api => api.listTools({ agentId: 'none/of these' }), 'Agent not found'],
    [
      'API_NOT_FOUND',
      404,
      (api, ids) => api.getCustomMetric({ agentId: agentId(ids), metricId: 'none' }),
      'Metric not found',
    ],
    [
      'API_BAD_REQUEST',
      400,
      (api, ids) => api.createVariable({ agentId: agentId(ids), variable: { key: 'order_number' } }),
      'The agent has a variable with the key',
    ],
    ['API_FORBIDDEN', 403, api => api.updateWorkspace({ workspaceId: 'ws_other', updates: {} }), 'another workspace'],
    [
      'API_BAD_REQUEST',
      409,
      api =>
        api.updateWorkspace({ workspaceId: WORKSPACE, updates: { marketplaceProfile: { username: 'nova-labs' } } }),
      'The username "nova-labs" is taken',
    ],
    [
      'API_FORBIDDEN',
      403,
      (api, ids) => api.updateCustomMetric({ ...system(ids), metric: { description: 'x' } }),
      'A system metric cannot be updated',
    ],
  ])('is %s with the status %i and the words of the vendor', async (code, status, call, words) => {
    const { api, ids } = await openApi()
    const error = await failureOf(call(api, ids))
    expect(error).toMatchObject({ code, facts: { status } })
    expect(error.message).toContain(words)
  })

  it('has an issue for each problem', async () => {
    const { api, ids } = await openApi()
    const error = await failureOf(api.createTool({ agentId: ids.agents[0]!, tool: { name: '', description: '' } }))
    expect(error).toMatchObject({ code: 'API_BAD_REQUEST', exitCode: 4, facts: { vendorCode: 'BAD_REQUEST' } })
    expect(error.issues).toHaveLength(2)
    expect(error.issues[0]).toContain('name')
    expect(error.message).toContain(error.issues[1])
  })

  it('of a wrong token is final', async () => {
    const { api, ids } = await openApi({}, { token: 'another-token' })
    const error = await failureOf(api.deleteOrganization({ orgId: ids.organizations[0]! }))
    expect(error).toMatchObject({ code: 'API_UNAUTHORIZED', exitCode: 3, facts: { status: 401, attempts: 1 } })
  })
})

describe('a list', () => {
  it('of voices is filtered and paged, and names the providers that fail', async () => {
    const { api, sandbox } = await openApi()
    const all = await api.listVoices({ limit: 500 })
    const { voices, total, ...place } = await api.listVoices({ language: 'de', gender: 'f', limit: 2, offset: 1 })
    expect(place).toMatchObject({ limit: 2, offset: 1 })
    expect([voices.length <= 2, total! < all.total!]).toEqual([true, true])
    const [one, two] = all.providersQueried!
    expect((await api.listVoices({ providers: [one!, two!] })).providersQueried).toEqual([one, two])
    await ask(sandbox, 'POST', '/_sandbox/conditions', { failedProviders: [one] })
    const failed = await api.listVoices({ limit: 500 })
    expect(failed.providersFailed).toEqual([{ provider: one, error: expect.any(String) }])
    expect(failed.voices.some(({ provider }) => provider === one)).toBe(false)
  })

  it('of agents has their secrets', async () => {
    const { api, ids } = await openApi()
    const { agents, total } = await api.searchAgents({ sortBy: 'alphabetical', page: 1, limit: 1, starredOnly: false })
    expect([agents?.length, total]).toEqual([1, ids.agents.length])
    const found = await api.searchAgents({ search: ids.agents[1]!, workspaceId: WORKSPACE })
    expect(found.agents).toMatchObject([{ ID: ids.agents[1], SECRET_API_KEY: expect.any(String) }])
  })
})

describe('an export', () => {
  it('has conversations, their cost, and the way to the next page', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    const page = await api.exportConversations({ agentId, limit: 2, sort: 'asc' })
    const known: ConversationFields = page.data[0]!
    expect(page).toMatchObject({ hasMore: true, mode: 'paginated', limit: 2 })
    expect(page.usage?.billableUsedThisRequest).toBeGreaterThan(0)
    expect(page.rateLimit?.remainingHour).toBeLessThan(1_500)
    const selected = await api.exportConversations({ agentId, convoIds: [known.ID] })
    expect(selected.data.map(({ ID }) => ID)).toEqual([known.ID])
    expect(await api.exportConversations({ agentId, limit: 1, format: 'csv' })).toMatch(/^ID,|,ID,/)
  })

  it('is refused to a workspace that has never paid, and above the hourly limit', async () => {
    const { api, ids, sandbox } = await openApi({ hourlyRequests: 2 })
    const page = () => api.exportConversations({ agentId: ids.agents[0]!, limit: 1 })
    await page()
    await ask(sandbox, 'POST', '/_sandbox/conditions', { paid: false })
    expect(await failureOf(page())).toMatchObject({ code: 'API_FORBIDDEN', facts: { status: 403 } })
    const many = await failureOf(page())
    expect(many).toMatchObject({ code: 'API_RATE_LIMITED', exitCode: 5, facts: { status: 429 } })
    expect(many.facts.retryAfterMs).toBeGreaterThan(0)
  })
})
