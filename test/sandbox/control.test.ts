import { describe, expect, it } from 'vitest'
import { call, DAY, exportAll, exportable, exportPath, firstAgent, open, START_MS } from './caller.ts'

interface ControlBody {
  total: number
  requests: ({ query: Record<string, string> } & Record<string, unknown>)[]
  summary: { count: number; statuses: Record<string, number> }[]
  agents: unknown[]
  nowMs: number
  speed: number
  usage: unknown
  hour: unknown
}

async function control(sandbox: Awaited<ReturnType<typeof open>>, name: string, body?: unknown) {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${sandbox.url}/_sandbox/${name}`, init)
  return {
    status: response.status,
    text: await response.clone().text(),
    json: (await response.json()) as ControlBody,
  }
}

describe('the control endpoints', () => {
  it('list each served request with its query, its outcome and the sandbox’s time', async () => {
    const sandbox = await open()
    const agentId = firstAgent(sandbox)
    const [first] = await exportAll(sandbox, agentId, { limit: 100, sort: 'asc' })
    await call(sandbox, exportPath(agentId, { limit: 0, other: 'x' }))
    const { requests, total } = (await control(sandbox, 'requests')).json
    expect(total).toBe(requests.length)
    expect(requests[0]).toEqual({
      n: 1,
      at: START_MS,
      method: 'GET',
      path: exportPath(agentId).split('?')[0],
      kind: 'export',
      agentId,
      query: { limit: '100', sort: 'asc' },
      status: 200,
      returned: first!.data.length,
      billed: first!.usage.billableUsedThisRequest,
      faults: [],
    })
    expect(requests[1]!.query.cursor).toBe(first!.nextCursor)
    expect(requests.at(-1)).toMatchObject({ query: { limit: '0' }, status: 400, returned: 0, billed: 0 })
    expect((await control(sandbox, `requests?since=${total - 1}`)).json.requests).toHaveLength(1)
    expect((await control(sandbox, 'requests?agentId=another')).json.requests).toEqual([])
  })

  it('count requests by agent, query and cursor', async () => {
    const sandbox = await open()
    for (let times = 0; times < 2; times++) await exportAll(sandbox, firstAgent(sandbox), { limit: 100 })
    const { summary } = (await control(sandbox, 'requests?summary=true')).json
    expect(summary.length).toBeGreaterThan(1)
    expect(summary.map(entry => entry.count)).toEqual(summary.map(() => 2))
    expect(summary[0]!.statuses).toEqual({ 200: 2 })
  })

  it('clear the request log on demand, but neither rate limit nor usage', async () => {
    const sandbox = await open()
    await exportAll(sandbox, firstAgent(sandbox), { limit: 100 })
    const before = (await control(sandbox, 'state')).json
    await control(sandbox, 'reset-requests', {})
    const after = (await control(sandbox, 'state')).json
    expect(after.requests).toBe(0)
    expect(after.usage).toEqual(before.usage)
    expect(after.hour).toEqual(before.hour)
  })

  it('never show the token, not even one that was sent in a URL', async () => {
    const sandbox = await open()
    await call(sandbox, exportPath(firstAgent(sandbox), { token: 'test-token' }))
    for (const name of ['requests', 'requests?summary=true', 'state']) {
      expect((await control(sandbox, name)).text).not.toContain('test-token')
    }
  })

  it('set the clock, advance it, and change its speed', async () => {
    const sandbox = await open()
    expect((await control(sandbox, 'clock', { nowMs: START_MS + DAY })).json.nowMs).toBe(START_MS + DAY)
    expect((await control(sandbox, 'clock', { advanceMs: -1_000 })).json.nowMs).toBe(START_MS + DAY - 1_000)
    expect((await control(sandbox, 'clock', { speed: 3_600 })).json.speed).toBe(3_600)
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(sandbox.clock.now()).toBeGreaterThan(START_MS + DAY + 100_000)
  })

  it.each([
    { nowMs: 'noon' },
    { nowMs: 1, advanceMs: 1 },
    { speed: -1 },
    { tomorrow: true },
    { nowMs: 1e15 },
    'not an object',
  ])('refuse the clock setting %j', async setting => {
    const sandbox = await open()
    expect((await control(sandbox, 'clock', setting)).status).toBe(400)
    expect(sandbox.clock.now()).toBe(START_MS)
  })

  it('report the true counts of each agent', async () => {
    const sandbox = await open()
    const { agents } = (await control(sandbox, 'truth')).json
    for (const [place, agentId] of sandbox.world.agentIds().entries()) {
      const truth = exportable(sandbox, agentId)
      expect(agents[place]).toEqual({
        agentId,
        visible: sandbox.world.count(agentId, START_MS),
        exportable: truth.length,
        billableSessions: truth.reduce((sum, { billableSessions }) => sum + billableSessions, 0),
        nameless: 0,
      })
    }
  })

  it('refuse other names and other methods', async () => {
    const sandbox = await open()
    expect((await control(sandbox, 'constructor')).status).toBe(404)
    expect((await control(sandbox, 'clock')).status).toBe(405)
    expect((await control(sandbox, 'requests', {})).status).toBe(405)
  })
})
