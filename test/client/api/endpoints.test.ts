// Calls each endpoint of the sandbox: successful answers, and the errors that the API document states.
import { describe, expect, it } from 'vitest'
import type { ConversationFields } from '../../../src/client/api/records/conversation.ts'
import { failureOf } from '../vendor-fixture.ts'
import { openApi } from './api-scene.ts'

const WORKSPACE = 'ws_demo'

describe('what is written', () => {
  it('is read afterwards: a tool, a variable, and a metric', async () => {
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
    const { metric } = await api.updateCustomMetric({ agentId, metricId, metric: { description: 'Revised' } })
    expect(metric).toMatchObject({ id: metricId, description: 'Revised' })
    expect((await api.getCustomMetric({ agentId, metricId })).metric).toEqual(metric)
    const updates = { workspaceName: 'North', marketplaceProfile: { username: 'north-team' } }
    const workspace = await api.updateWorkspace({ workspaceId: WORKSPACE, updates })
    expect(workspace.data).toMatchObject({ uid: WORKSPACE, workspaceName: 'North' })
  })
})

describe('a refusal', () => {
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

describe('a list of agents', () => {
  it('has their secrets', async () => {
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
})
