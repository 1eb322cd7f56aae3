import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { call, DAY, open, refusal } from './caller.ts'

/** The fields of sections 2.1 and 2.2, in the order of an agent's record. */
const FIELDS =
  'id name description isDefault method serverUrl serverUrlSecret createdAt updatedAt disabled isExtTool extId isGlobal variablesIds agentId userId backchannellingPhrases toolsSettings fields channels'.split(
    ' ',
  )
const FIELD_FIELDS =
  'agentId defaultValue description id in isEnv isGlobal isSystem key required reusable type userId value'

type Tool = { id: string; fields: Record<string, unknown>[] } & Record<string, unknown>

const tools = async (sandbox: Sandbox, agentId: string): Promise<Tool[]> => {
  const body = (await (await call(sandbox, `/v3/agents/${agentId}/tools`)).json()) as { success: boolean; data: Tool[] }
  expect(Object.keys(body)).toEqual(['success', 'message', 'data'])
  expect(body.success).toBe(true)
  return body.data
}

describe('the tools of an agent', () => {
  it('have every documented field, including secrets', async () => {
    const sandbox = await open({ agents: 8 })
    const found = (await Promise.all(sandbox.world.agentIds().map(id => tools(sandbox, id)))).flat()
    expect(found.length).toBeGreaterThan(8)
    for (const tool of found) {
      expect(Object.keys(tool)).toEqual(FIELDS)
      for (const field of tool.fields) expect(Object.keys(field).sort().join(' ')).toBe(FIELD_FIELDS)
      expect(tool.serverUrlSecret).toContain(CANARY)
    }
    const secret = found.flatMap(({ fields }) => fields).filter(({ isEnv }) => isEnv)
    expect(secret.length).toBe(8)
    expect(secret.every(({ value }) => String(value).includes(CANARY))).toBe(true)
  })

  it('are the permanent ones of its record, and others that are created and deleted', async () => {
    const sandbox = await open({ agents: 8 })
    const seen = new Map<string, Set<string>>()
    for (let month = 0; month < 12; month++) {
      for (const id of sandbox.world.agentIds()) {
        const ids = (await tools(sandbox, id)).map(tool => tool.id)
        const { tools: permanent } = sandbox.world.agent(id) as unknown as { tools: { id: string }[] }
        expect(ids).toEqual(expect.arrayContaining(permanent.map(tool => tool.id)))
        seen.set(`${month} ${id}`, new Set(ids))
      }
      sandbox.clock.advance(30 * DAY)
    }
    const changed = (before: number, after: number) =>
      sandbox.world.agentIds().some(id => {
        const now = seen.get(`${after} ${id}`)!
        return [...seen.get(`${before} ${id}`)!].some(tool => !now.has(tool))
      })
    expect([changed(0, 11), changed(11, 0)]).toEqual([true, true])
  })

  it('are refused without a token, for other methods, and for an unknown or deleted agent', async () => {
    const sandbox = await open()
    const [first] = sandbox.world.agentIds()
    expect((await fetch(`${sandbox.url}/v3/agents/${first}/tools`)).status).toBe(401)
    const headers = { authorization: 'Bearer test-token' }
    expect((await call(sandbox, `/v3/agents/${first}/tools`, { method: 'PUT', headers })).status).toBe(405)
    expect(await refusal(sandbox, '/v3/agents/nobody/tools')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    })
    sandbox.conditions.set({ gone: [first!] })
    expect((await call(sandbox, `/v3/agents/${first}/tools`)).status).toBe(404)
  })

  it('do not count against the rate limit, and are logged as a kind of their own', async () => {
    const sandbox = await open({ hourlyRequests: 1 })
    const [first] = sandbox.world.agentIds()
    for (let i = 0; i < 3; i++) await tools(sandbox, first!)
    const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=tools`)
    const { requests } = (await answer.json()) as { requests: unknown[] }
    expect(requests).toHaveLength(3)
    expect(requests[0]).toMatchObject({ kind: 'tools', agentId: first, query: {}, status: 200, billed: 0 })
  })
})
