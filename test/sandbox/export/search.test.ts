import { describe, expect, it } from 'vitest'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { call, open, refusal } from '../caller.ts'

interface SearchBody {
  agents: Record<string, unknown>[]
  starredAgents: Record<string, unknown>[]
  total: number
  totalStarred: number
  page: number
  limit: number
  hasMore: boolean
}

async function search(sandbox: Awaited<ReturnType<typeof open>>, query = ''): Promise<SearchBody> {
  return (await (await call(sandbox, `/v3/agents/search?${query}`)).json()) as SearchBody
}

/** Paths of all strings in a record that contain the canary. */
function canaries(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return value.includes(CANARY) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    canaries(inner, Array.isArray(value) ? `${path}[]` : `${path}.${key}`),
  )
}

describe('the agent search', () => {
  it('pages through all agents, each once', async () => {
    const sandbox = await open({ agents: 7 })
    const pages = [
      await search(sandbox, 'limit=3&page=1'),
      await search(sandbox, 'limit=3&page=2'),
      await search(sandbox, 'limit=3&page=3'),
    ]
    const ids = pages.flatMap(page => page.agents.map(agent => agent.ID))
    expect(ids.toSorted()).toEqual(sandbox.world.agentIds().toSorted())
    expect(pages.map(page => page.hasMore)).toEqual([true, true, false])
    expect(pages[0]).toMatchObject({ total: 7, totalStarred: 3, page: 1, limit: 3 })
  })

  it('lists the starred agents, and only them if requested', async () => {
    const sandbox = await open({ agents: 7 })
    const { agents, starredAgents, total } = await search(sandbox, 'starredOnly=true')
    expect(starredAgents).toHaveLength(3)
    expect(agents.map(agent => agent.ID).toSorted()).toEqual(starredAgents.map(agent => agent.ID).toSorted())
    expect(total).toBe(3)
  })

  it.each([
    ['firstCreated', 'createdAtUNIX', 1],
    ['lastCreated', 'createdAtUNIX', -1],
    ['oldest', 'lastModified', 1],
    ['newest', 'lastModified', -1],
  ])('orders by %s', async (sortBy, field, direction) => {
    const sandbox = await open({ agents: 9 })
    const values = (await search(sandbox, `sortBy=${sortBy}`)).agents.map(agent => Number(agent[field]))
    expect(values).toEqual(values.toSorted((a, b) => direction * (a - b)))
  })

  it('finds a part of a title, ignoring case', async () => {
    const sandbox = await open({ agents: 6 })
    const { agents } = await search(sandbox, 'search=BILLING')
    expect(agents.map(agent => agent.title)).toEqual(['Billing & refunds'])
    expect((await search(sandbox, 'search=nothing-like-this')).agents).toEqual([])
  })

  it.each(['limit=0', 'limit=101', 'page=0', 'sortBy=size'])('refuses %s', async query => {
    const sandbox = await open()
    expect(await refusal(sandbox, `/v3/agents/search?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST' },
    })
  })

  it('answers for its own workspace only', async () => {
    const sandbox = await open()
    expect((await search(sandbox, 'workspaceId=ws_demo')).total).toBe(3)
    expect(await refusal(sandbox, '/v3/agents/search?workspaceId=ws_other')).toMatchObject({ status: 403 })
  })
})

describe('an agent', () => {
  it('has the groups of section 2.12', async () => {
    const sandbox = await open()
    const groups = `title description ownerID ID storageID theme agentPlatform region createdAtUNIX lastModified disabled
      isDeployed deployed starred voiceConfig proactiveMessage disableHumanHandoff vgOptions kbTags kbTagsDataMap
      enableNodes nodes nodesSettings advanced enableFallback fallbackSettings assignedToolsIds tools whatsappToken
      whatsappNumberId instagramOptions emailConfig inboundEngagement webhookUrl SECRET_API_KEY autoTest funnelConfig
      topicsConfig webControlConfig leadCollectionRules identityResolutionSettings limits convoTags marketplace`
    for (const agent of (await search(sandbox)).agents)
      expect(Object.keys(agent)).toEqual(expect.arrayContaining(groups.split(/\s+/)))
  })

  it('has a canary in each of its secrets', async () => {
    const sandbox = await open({ agents: 1 })
    const [agent] = (await search(sandbox)).agents
    expect(canaries(agent).map(path => path.slice(1))).toEqual(
      expect.arrayContaining([
        'whatsappToken',
        'SECRET_API_KEY',
        'voiceConfig.transcriber.apiKey',
        'voiceConfig.speechGen.apiKey',
        'advanced.serverUrlSecret',
        'tools[].serverUrlSecret',
        'tools[].fields[].value',
        'vapiConfig.privateKey',
        'nodes[].mcpServers[].headers.Authorization',
      ]),
    )
  })
})
