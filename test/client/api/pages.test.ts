import { describe, expect, it } from 'vitest'
import { allAgents, allAuditEntries, allTeams, allVoices, exportPages } from '../../../src/client/api/pages.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { json } from '../scripted-server.ts'
import { openApi, scriptedApi } from './api-scene.ts'

const collected = async <T>(pages: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const one of pages) all.push(one)
  return all
}

type Readings = NonNullable<Partial<SandboxOptions>['readings']>

const counted = (entries: readonly unknown[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(JSON.stringify(entry), (counts.get(JSON.stringify(entry)) ?? 0) + 1)
  return counts
}

describe('the entries of an audit log', () => {
  it.each<Readings>([{ auditCursor: 'exclusive' }, { lastAuditCursor: 'present' }])(
    'are each read once, no matter what a cursor means: %j',
    async readings => {
      const { api, ids } = await openApi({ readings })
      const agentId = ids.agents[0]!
      const { entries } = await api.getAuditLog({ agentId, limit: 200 })
      const most = Math.max(...counted(entries.map(({ ts }) => ts)).values())
      const paged = await collected(allAuditEntries(api, { agentId, limit: most + 2 }))
      expect(paged.length).toBeGreaterThan(most + 2)
      expect(counted(paged.slice(0, entries.length))).toEqual(counted(entries))
    },
  )
})

describe('voices', () => {
  it('are read to the end, filtered', async () => {
    const { api } = await openApi()
    const { total } = await api.listVoices({ limit: 1 })
    const voices = await collected(allVoices(api))
    expect(total).toBeGreaterThan(500)
    expect(voices).toHaveLength(total!)
    const male = voices.filter(({ filters }) => filters?.gender === 'male')
    expect(await collected(allVoices(api, { limit: 99, gender: 'm' }))).toEqual(male)
  })

  it.each([{}, { total: null }])('end with an empty page if the answers have no total: %j', async total => {
    const page = (voiceId: string) => json({ voices: [{ voiceId, provider: 'p' }], ...total })
    const { api } = await scriptedApi(page('v'), page('w'), json({ voices: [], ...total }))
    expect(await collected(allVoices(api))).toHaveLength(2)
  })
})

describe('agents and teams', () => {
  it('are all listed once', async () => {
    const { api, ids } = await openApi({ readings: { agentPage: 3 }, agents: 5 })
    const { agents, cutOff } = await allAgents(api)
    expect(agents.map(({ ID }) => ID).sort()).toEqual(ids.agents.toSorted())
    expect(cutOff).toBeNull()
  })

  it('have a reason if the list may be incomplete', async () => {
    const page = json({ success: true, teams: [{ ID: 't1' }], total: 3, hasMore: true })
    const { api } = await scriptedApi(page)
    const { teams, cutOff } = await allTeams(api, { orgId: 'o1' })
    expect(teams).toEqual([{ ID: 't1' }])
    expect(cutOff).toBe('the vendor reports more entries and returns no new ones (1 of 3 listed)')
  })
})

describe('the pages of an export', () => {
  it('have each conversation once', async () => {
    const { api, ids, sandbox } = await openApi({ agents: 1 })
    const pages = await collected(exportPages(api, { agentId: ids.agents[0]!, limit: 7, sort: 'asc' }))
    const found = pages.flatMap(({ data }) => data.map(({ ID }) => ID))
    expect(new Set(found).size).toBe(found.length)
    expect(found).toHaveLength(sandbox.world.tally(ids.agents[0]!, sandbox.clock.now()).exportable)
    expect(pages.length).toBeGreaterThan(1)
  })

  it('end with an error if the cursor does not move', async () => {
    const page = { success: true, data: [], hasMore: true, nextCursor: 'same' }
    const { api, server } = await scriptedApi(json(page))
    const error = await collected(exportPages(api, { agentId: 'a' })).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'API_PROTOCOL' })
    expect(server.requests).toHaveLength(2)
  })

  it('are one for a selection, whose answer may lack paging', async () => {
    const { api } = await scriptedApi(json({ success: true, data: [] }))
    expect(await collected(exportPages(api, { agentId: 'a', convoIds: ['gone'] }))).toHaveLength(1)
  })
})
