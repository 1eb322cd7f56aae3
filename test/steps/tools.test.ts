import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AGENTS } from '../../src/catalog/resources/agents.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { PLAIN_SYNC, planOnly } from '../../src/run/embedded.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { type SimulatedApp, TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

/** Agents whose tools were requested, in order. */
async function requested({ sandbox }: SimulatedApp): Promise<string[]> {
  const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=tools`)
  const { requests } = (await answer.json()) as { requests: ServedRequest[] }
  return requests.map(({ agentId }) => agentId!)
}

type Answer = { status: number; body?: unknown } | undefined

/** A vendor that answers tools with `answer`; the sandbox serves everything else. */
async function toolsAnswer(upstream: string, answer: (agentId: string, data: unknown[]) => Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    const authorization = request.headers.authorization ?? ''
    const passed = await fetch(`${upstream}${request.url}`, { headers: { authorization } })
    const text = await passed.text()
    const agentId = /^\/v3\/agents\/([^/]+)\/tools$/.exec(request.url!)?.[1]
    const data = agentId === undefined || passed.status !== 200 ? [] : (JSON.parse(text) as { data: unknown[] }).data
    const own = agentId === undefined ? undefined : answer(agentId, data)
    response.writeHead(own?.status ?? passed.status, { date: passed.headers.get('date') ?? '' })
    response.end(own ? JSON.stringify(own.body ?? {}) : text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const missing = async ({ rows }: SimulatedApp): Promise<string[]> =>
  (
    await rows<{ id: string }>(
      `SELECT agent_id || ' ' || tool_id AS id FROM tools WHERE _missing_since IS NOT NULL ORDER BY id`,
    )
  ).map(({ id }) => id)

const NOT_FOUND = { status: 404, body: { message: 'Agent not found', code: 'NOT_FOUND', issues: [] } }

describe('the tools of the agents', () => {
  it('are in tables when the sync is done, without their secrets', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 20, agents: 5 },
      settings: { resources: ['tools'] },
    })
    expect((await simulated.sync()).outcome).toBe('done')
    const { sandbox, rows } = simulated
    // `createdAt` of a tool is a string: kept as sent, and as a time.
    const found = await rows(
      'SELECT agent_id, tool_id, name, disabled, created, epoch_ms(created_at)::DOUBLE AS ms FROM tools ORDER BY ALL',
    )
    const served = await Promise.all(
      sandbox.world.agentIds().map(async agentId => {
        const headers = { authorization: `Bearer ${TOKEN}` }
        const answer = await fetch(`${sandbox.url}/v3/agents/${agentId}/tools`, { headers })
        const { data } = (await answer.json()) as {
          data: { id: string; name: string; disabled: boolean; createdAt: string }[]
        }
        return data.map(({ id, name, disabled, createdAt }) => ({
          ...{ agent_id: agentId, tool_id: id, name, disabled },
          ...{ created: createdAt, ms: Date.parse(createdAt) },
        }))
      }),
    )
    const key = (row: object) => Object.values(row).join(' ')
    expect(found).toEqual(served.flat().sort((a, b) => (key(a) < key(b) ? -1 : 1)))
    expect(await rows("SELECT DISTINCT variable_id FROM tool_variables WHERE variable_id = 'var_order'")).toHaveLength(
      1,
    )
    expect(
      await rows("SELECT DISTINCT channel FROM tool_channels WHERE channel IN ('webchat', 'whatsapp')"),
    ).toHaveLength(2)
    expect(
      await rows('SELECT DISTINCT location, field_key, is_env, value, default_value FROM tool_fields WHERE is_env'),
    ).toEqual([{ location: 'header', field_key: 'Authorization', is_env: true, value: null, default_value: null }])
    const landing = openLanding(simulated.config.home).workspace(WORKSPACE)
    const pages = await landing.list('tools')
    expect(pages).toHaveLength(5)
    for (const { address } of pages) expect((await landing.body(address)).toString()).not.toContain(CANARY)
    for (const table of ['tools', 'tool_fields'])
      expect(JSON.stringify(await rows(`SELECT * FROM ${table}`))).not.toContain(CANARY)
    const removed = await rows(`SELECT path FROM _issues WHERE record = 'tool' ORDER BY path`)
    expect(removed.map(({ path }) => path)).toEqual(['fields[].defaultValue', 'fields[].value', 'serverUrlSecret'])
  })

  it('are requested once a day or when their agent has changed, not by a plan, and are missing with their agent, also after a replay', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 0 }, settings: { resources: ['tools'] } })
    const { config, app, clock, sandbox, sync } = simulated
    const agents = [...sandbox.world.agentIds()].sort()
    const { signal } = new AbortController()
    await planOnly({ config, workspace: config.workspaces[0]!, app, request: PLAIN_SYNC, signal, clock: clock.within })
    expect(await requested(simulated)).toEqual([])
    await sync()
    simulated.advance(23 * HOUR)
    await sync()
    await simulated.restart()
    await sync()
    expect(await requested(simulated)).toEqual(agents)
    simulated.advance(2 * HOUR)
    await sync()
    expect(await requested(simulated)).toEqual([...agents, ...agents])

    simulated.advance(HOUR)
    const at = (ms: number) => `TIMESTAMPTZ '${new Date(ms).toISOString().slice(0, -1)}'`
    const now = simulated.clock.now()
    const [first, second, third] = agents
    await simulated.rows(`UPDATE agents SET _changed_at = ${at(now)} WHERE agent_id = '${first}'`)
    await simulated.rows(`UPDATE agents SET last_modified = ${at(now)} WHERE agent_id = '${second}'`)
    await simulated.rows(`UPDATE agents SET last_modified = ${at(now + 30 * DAY)} WHERE agent_id = '${third}'`)
    simulated.advance(HOUR)
    await sync()
    await sync()
    expect((await requested(simulated)).slice(6)).toEqual([first, second])

    const gone = sandbox.world.agentIds()[0]!
    const own = await simulated.rows<{ id: string }>(
      `SELECT tool_id AS id FROM tools WHERE agent_id = '${gone}' ORDER BY id`,
    )
    sandbox.conditions.set({ gone: [gone] })
    simulated.advance(DAY + HOUR)
    await sync()
    expect(await missing(simulated)).toEqual(own.map(({ id }) => `${gone} ${id}`))
    expect((await requested(simulated)).slice(8)).not.toContain(gone)

    const tables = ['tools', 'tool_fields', 'tool_variables', 'tool_channels']
    const all = () =>
      Promise.all(
        tables.map(table =>
          simulated.rows(`SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at')) FROM ${table} ORDER BY ALL`),
        ),
      )
    const [before, requests] = [await all(), await requested(simulated)]
    expect(before.every(rows => rows.length > 0)).toBe(true)
    await simulated.replay()
    expect(await all()).toEqual(before)
    await sync()
    expect(await requested(simulated)).toEqual(requests)

    sandbox.conditions.set({ gone: [] })
    await sync()
    expect(await missing(simulated)).toEqual([])
    expect((await requested(simulated)).at(-1)).toBe(gone)
  })
})

describe('a vendor that serves no tools, or not all', () => {
  const FAILING: [string, Answer, number][] = [
    ['a 404 without the body of the vendor', { status: 404, body: 'not found' }, 3],
    ['503', { status: 503 }, 3],
    ['400', { status: 400 }, 3],
  ]

  it('fails no sync, is asked again by the next, and does not affect organizations; a tool is marked as missing only with proof', async () => {
    let answer: (agentId: string, data: unknown[]) => Answer
    let requests = 0
    const simulated = await simulatedApp({
      sandbox: { conversations: 0 },
      settings: { resources: ['organizations', 'tools'], organizations: ['org_alpha', 'org_beta'] },
      through: ({ url }) =>
        toolsAnswer(url, (agentId, data) => {
          requests += 1
          return answer(agentId, data)
        }),
    })
    for (const [name, failing, count] of FAILING) {
      answer = () => failing
      requests = 0
      expect(await simulated.sync(), name).toMatchObject({ outcome: 'done', failures: [] })
      expect(requests, name).toBe(count)
    }
    expect(await simulated.rows('SELECT 1 FROM organizations')).toHaveLength(2)
    expect(await simulated.rows('SELECT 1 FROM tools')).toEqual([])

    const dayLater = async () => {
      simulated.advance(DAY + HOUR)
      await simulated.sync()
      return missing(simulated)
    }
    answer = () => undefined
    await simulated.sync()
    const [one] = await simulated.rows<{ agent: string; id: string }>(
      'SELECT agent_id AS agent, tool_id AS id FROM tools ORDER BY ALL',
    )
    const without = (data: unknown[]) => (data as { id: string }[]).filter(({ id }) => id !== one!.id)
    answer = (_, data) => ({ status: 200, body: { success: true, data: without(data), total: data.length } })
    expect(await dayLater()).toEqual([])
    const issues = await simulated.rows("SELECT issue FROM _issues WHERE record = 'tool' AND path = '(listing)'")
    expect(issues).toHaveLength(1)
    answer = (_, data) => ({ status: 200, body: { success: true, data: without(data) } })
    expect(await dayLater()).toEqual([`${one!.agent} ${one!.id}`])
    answer = () => undefined
    expect(await dayLater()).toEqual([])

    answer = agentId => (agentId === one!.agent ? NOT_FOUND : undefined)
    const ofAgent = await dayLater()
    expect(ofAgent).not.toEqual([])
    expect(ofAgent.every(id => id.startsWith(`${one!.agent} `))).toBe(true)
    expect(await simulated.rows(`SELECT 1 FROM ${AGENTS.record.table} WHERE _missing_since IS NOT NULL`)).toEqual([])
  })
})
