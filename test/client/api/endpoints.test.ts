// Each endpoint against the sandbox: what succeeds, and the errors that the API document states.
import { describe, expect, it } from 'vitest'
import type { ConversationFields } from '../../../src/client/api/records/conversation.ts'
import { ask } from '../../sandbox/caller.ts'
import { failureOf } from '../vendor-fixture.ts'
import { openApi } from './api-scene.ts'

const WORKSPACE = 'ws_demo'

describe('tools', () => {
  it('are created, and listed with what was created', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    const tool = { name: 'Find an order', description: 'When asked for an order', serverUrlSecret: 'shh', channels: [] }
    const { data, message } = await api.createTool({ agentId, tool })
    expect(data).toMatchObject({ ...tool, agentId, id: expect.stringMatching(/^tool_/) })
    expect(message).toBe('Tool created successfully')
    expect((await api.listTools({ agentId })).data).toContainEqual(data)
  })

  it('are refused with an issue for each problem', async () => {
    const { api, ids } = await openApi()
    const tool = { name: '', description: '' }
    const error = await failureOf(api.createTool({ agentId: ids.agents[0]!, tool }))
    expect(error).toMatchObject({
      code: 'API_BAD_REQUEST',
      exitCode: 4,
      facts: { status: 400, vendorCode: 'BAD_REQUEST' },
    })
    expect(error.issues).toHaveLength(2)
    expect(error.issues[0]).toContain('name')
    expect(error.message).toContain(error.issues[1])
  })

  it('of an unknown agent are a 404', async () => {
    const { api } = await openApi()
    const error = await failureOf(api.listTools({ agentId: 'none/of these' }))
    expect(error).toMatchObject({ code: 'API_NOT_FOUND', hint: 'Check the ids and the API address.' })
    expect(error.facts).toMatchObject({ path: '/v3/agents/none%2Fof%20these/tools', agentId: 'none/of these' })
  })
})

describe('variables', () => {
  it('are created with any value, and listed', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    const variable = { key: 'plan', value: { tier: [1, null] }, isGlobal: true }
    const { data } = await api.createVariable({ agentId, variable })
    expect(data).toMatchObject(variable)
    expect((await api.listVariables({ agentId })).data).toContainEqual(data)
  })

  it('are refused if the agent has the key', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    await api.createVariable({ agentId, variable: { key: 'plan' } })
    const error = await failureOf(api.createVariable({ agentId, variable: { key: 'plan' } }))
    expect(error).toMatchObject({ code: 'API_BAD_REQUEST', facts: { status: 400 } })
    expect(error.issues).toEqual(['The agent has a variable with the key "plan"'])
  })
})

describe('the audit log', () => {
  it('has what was written', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    const { data } = await api.createVariable({ agentId, variable: { key: 'plan', value: 'gold' } })
    const { entries } = await api.getAuditLog({ agentId, limit: 200 })
    expect(entries).toContainEqual(
      expect.objectContaining({
        agentId,
        field: `variables[${data.id}].value`,
        newValue: 'gold',
        ts: expect.any(Number),
      }),
    )
  })

  it('has a next cursor, which the next page begins at', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    for (const key of ['a', 'b', 'c']) await api.createVariable({ agentId, variable: { key } })
    const first = await api.getAuditLog({ agentId, limit: 1 })
    expect(first.entries).toHaveLength(1)
    const { entries } = await api.getAuditLog({ agentId, cursorTs: first.nextCursorTs! })
    expect(entries.every(({ ts }) => ts <= first.nextCursorTs!)).toBe(true)
  })
})

describe('the workspace', () => {
  it('is changed in the given fields', async () => {
    const { api } = await openApi()
    const updates = { workspaceName: 'North', marketplaceProfile: { username: 'north-team' } }
    const { data } = await api.updateWorkspace({ workspaceId: WORKSPACE, updates })
    expect(data).toMatchObject({ uid: WORKSPACE, workspaceName: 'North' })
  })

  it('may not be another one, nor take a username that is taken', async () => {
    const { api } = await openApi()
    const other = failureOf(api.updateWorkspace({ workspaceId: 'ws_other', updates: {} }))
    expect(await other).toMatchObject({ code: 'API_FORBIDDEN', exitCode: 3, facts: { status: 403 } })
    const updates = { marketplaceProfile: { username: 'nova-labs' } }
    const taken = await failureOf(api.updateWorkspace({ workspaceId: WORKSPACE, updates }))
    expect(taken.code).toBe('API_BAD_REQUEST')
    expect(taken.message).toContain('The username "nova-labs" is taken')
  })
})

describe('a custom metric', () => {
  const metricOf = (ids: { metrics: { agentId: string; id: string; isSystem: boolean }[] }, isSystem: boolean) => {
    const { agentId, id: metricId } = ids.metrics.find(metric => metric.isSystem === isSystem)!
    return { agentId, metricId }
  }

  it('is read and changed', async () => {
    const { api, ids } = await openApi()
    const own = metricOf(ids, false)
    const { metric: before } = await api.getCustomMetric(own)
    const { metric } = await api.updateCustomMetric({ ...own, metric: { description: 'Revised' } })
    expect(metric).toMatchObject({ id: own.metricId, key: before.key, description: 'Revised' })
    expect((await api.getCustomMetric(own)).metric).toEqual(metric)
  })

  it('that does not exist is a 404', async () => {
    const { api, ids } = await openApi()
    const error = await failureOf(api.getCustomMetric({ agentId: ids.agents[0]!, metricId: 'none' }))
    expect(error).toMatchObject({ code: 'API_NOT_FOUND', facts: { status: 404 } })
    expect(error.message).toContain('Metric not found')
  })

  it('of the system cannot be changed, nor can a key be taken twice', async () => {
    const { api, ids } = await openApi()
    const system = await failureOf(api.updateCustomMetric({ ...metricOf(ids, true), metric: { description: 'x' } }))
    expect(['API_BAD_REQUEST', 'API_FORBIDDEN']).toContain(system.code)
    expect(system.message).toContain('A system metric cannot be updated')
    const { metric } = await api.getCustomMetric(metricOf(ids, true))
    const own = ids.metrics.find(({ agentId, isSystem }) => !isSystem && agentId === metricOf(ids, true).agentId)!
    const twice = { agentId: own.agentId, metricId: own.id, metric: { key: metric.key } }
    expect(await failureOf(api.updateCustomMetric(twice))).toMatchObject({ code: 'API_BAD_REQUEST' })
  })
})

describe('voices', () => {
  it('are filtered and paged', async () => {
    const { api } = await openApi()
    const all = await api.listVoices({ limit: 500 })
    const filter = { language: 'de', gender: 'f', limit: 2, offset: 1 }
    const { voices, total, limit, offset, providersQueried } = await api.listVoices(filter)
    expect({ limit, offset }).toEqual({ limit: 2, offset: 1 })
    expect(voices.length).toBeLessThanOrEqual(2)
    expect(total).toBeLessThan(all.total!)
    const [one, two] = providersQueried!
    const some = await api.listVoices({ providers: [one!, two!] })
    expect(some.providersQueried).toEqual([one, two])
    expect((await api.listVoices()).voices).toEqual(all.voices.slice(0, 50))
  })

  it('of a provider that fails are missing, and the provider is named', async () => {
    const { api, sandbox } = await openApi()
    const { providersQueried } = await api.listVoices()
    const provider = providersQueried![0]!
    await ask(sandbox, 'POST', '/_sandbox/conditions', { failedProviders: [provider] })
    const { voices, providersFailed } = await api.listVoices({ limit: 500 })
    expect(providersFailed).toEqual([{ provider, error: expect.any(String) }])
    expect(voices.some(voice => voice.provider === provider)).toBe(false)
  })
})

describe('a crawler job', () => {
  it('has pages with their content', async () => {
    const { api, ids } = await openApi()
    const { id: jobId, pages } = ids.crawlerJobs[0]!
    const { data } = await api.getCrawlerPage({ workspaceId: WORKSPACE, jobId, pageId: pages[0]! })
    expect(data.page.id).toBe(pages[0])
    expect(data.content?.scrapeResponse?.urlsDiscovered).toBeInstanceOf(Array)
  })

  it('is deleted with its pages', async () => {
    const { api, ids } = await openApi()
    const { id: jobId, pages } = ids.crawlerJobs[0]!
    expect(await api.deleteCrawlerJob({ workspaceId: WORKSPACE, jobId })).toMatchObject({ success: true })
    const page = failureOf(api.getCrawlerPage({ workspaceId: WORKSPACE, jobId, pageId: pages[0]! }))
    expect((await page).code).toBe('API_NOT_FOUND')
    expect((await failureOf(api.deleteCrawlerJob({ workspaceId: WORKSPACE, jobId }))).code).toBe('API_NOT_FOUND')
  })
})

describe('an export', () => {
  it('has conversations, their cost, and the way to the next page', async () => {
    const { api, ids } = await openApi()
    const agentId = ids.agents[0]!
    const page = await api.exportConversations({ agentId, limit: 2, sort: 'asc' })
    const [first] = page.data
    const known: ConversationFields = first!
    expect(known.ID).toEqual(expect.any(String))
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
    const unpaid = await failureOf(page())
    expect(unpaid).toMatchObject({ code: 'API_FORBIDDEN', facts: { status: 403 } })
    const many = await failureOf(page())
    expect(many).toMatchObject({ code: 'API_RATE_LIMITED', exitCode: 5, facts: { status: 429 } })
    expect(many.facts.retryAfterMs).toBeGreaterThan(0)
  })
})

describe('an organization', () => {
  it('is read, with its teams', async () => {
    const { api, ids } = await openApi()
    const orgId = ids.organizations[0]!
    expect((await api.getOrganization({ orgId })).data.ID).toBe(orgId)
    const { teams, total } = await api.listTeams({ orgId, page: 1, limit: 1 })
    expect(teams.length).toBe(Math.min(1, total!))
    expect((await failureOf(api.getOrganization({ orgId: 'none' }))).code).toBe('API_NOT_FOUND')
    expect((await failureOf(api.listTeams({ orgId: 'none' }))).code).toBe('API_NOT_FOUND')
  })

  it('is deleted with its clients', async () => {
    const { api, ids } = await openApi()
    const orgId = ids.organizations[0]!
    const { deletedClientsCount } = await api.deleteOrganization({ orgId })
    expect(deletedClientsCount).toEqual(expect.any(Number))
    expect((await failureOf(api.getOrganization({ orgId }))).code).toBe('API_NOT_FOUND')
    expect((await failureOf(api.deleteOrganization({ orgId }))).code).toBe('API_NOT_FOUND')
  })
})

describe('agents', () => {
  it('are searched, with their secrets', async () => {
    const { api, ids } = await openApi()
    const { agents, total } = await api.searchAgents({ sortBy: 'alphabetical', page: 1, limit: 1, starredOnly: false })
    expect(agents).toHaveLength(1)
    expect(total).toBe(ids.agents.length)
    const found = await api.searchAgents({ search: ids.agents[1]!, workspaceId: WORKSPACE })
    expect(found.agents?.map(({ ID }) => ID)).toEqual([ids.agents[1]])
    expect(found.agents![0]!.SECRET_API_KEY).toEqual(expect.any(String))
  })
})

describe('every endpoint', () => {
  it('refuses a wrong token', async () => {
    const { api, ids } = await openApi({}, { token: 'another-token' })
    const error = await failureOf(api.deleteOrganization({ orgId: ids.organizations[0]! }))
    expect(error).toMatchObject({ code: 'API_UNAUTHORIZED', exitCode: 3, facts: { status: 401, attempts: 1 } })
  })
})
