import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AGENTS } from '../../src/catalog/resources/agents.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { PLAIN_SYNC, planOnly } from '../../src/run/embedded.ts'
import { replay } from '../../src/run/replay.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { type SimulatedApp, TOKEN, WORKSPACE } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'

/** Agents whose tools were requested, in order. */
async function requested({ sandbox }: SimulatedApp): Promise<string[]> {
  const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=tools`)
  const { requests } = (await answer.json()) as { requests: ServedRequest[] }
  return requests.map(({ agentId }) => agentId!)
}

type Answer = { status: number; body?: unknown } | undefined

/** A vendor whose tools are answered by `answer`; all else is the sandbox's. */
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
    const simulated = await simulatedApp({ sandbox: { conversations: 20, agents: 5 } })
    expect((await simulated.sync()).outcome).toBe('done')
    const { sandbox, rows } = simulated
    const found = await rows('SELECT agent_id, tool_id, name, disabled FROM tools ORDER BY ALL')
    const served = await Promise.all(
      sandbox.world.agentIds().map(async agentId => {
        const headers = { authorization: `Bearer ${TOKEN}` }
        const answer = await fetch(`${sandbox.url}/v3/agents/${agentId}/tools`, { headers })
        const { data } = (await answer.json()) as { data: { id: string; name: string; disabled: boolean }[] }
        return data.map(({ id, name, disabled }) => ({ agent_id: agentId, tool_id: id, name, disabled }))
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

  it('are requested once a day, and not by a plan', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 20 } })
    const agents = [...simulated.sandbox.world.agentIds()].sort()
    const { config, app, clock } = simulated
    const { signal } = new AbortController()
    await planOnly({ config, workspace: config.workspaces[0]!, app, request: PLAIN_SYNC, signal, clock: clock.within })
    expect(await requested(simulated)).toEqual([])
    await simulated.sync()
    simulated.advance(23 * HOUR)
    await simulated.sync()
    await simulated.restart()
    await simulated.sync()
    expect(await requested(simulated)).toEqual(agents)
    simulated.advance(2 * HOUR)
    await simulated.sync()
    expect(await requested(simulated)).toEqual([...agents, ...agents])
  })

  it('are requested sooner where their agent has changed, once, and not for a change in the future', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 20 } })
    await simulated.sync()
    const [first, second, third] = [...simulated.sandbox.world.agentIds()].sort()
    simulated.advance(HOUR)
    const at = (ms: number) => `TIMESTAMP '${new Date(ms).toISOString().slice(0, -1)}'`
    const now = simulated.clock.now()
    await simulated.rows(`UPDATE agents SET _changed_at = ${at(now)} WHERE agent_id = '${first}'`)
    await simulated.rows(`UPDATE agents SET last_modified = ${at(now)} WHERE agent_id = '${second}'`)
    await simulated.rows(`UPDATE agents SET last_modified = ${at(now + 30 * DAY)} WHERE agent_id = '${third}'`)
    simulated.advance(HOUR)
    await simulated.sync()
    await simulated.sync()
    expect((await requested(simulated)).slice(3)).toEqual([first, second])
  })

  it('are those of fifty agents a run at most', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 0, agents: 60 } })
    const counts: number[] = []
    for (let run = 0; run < 3; run++) {
      await simulated.sync({ maxRequests: 0 })
      counts.push((await requested(simulated)).length)
    }
    expect(counts).toEqual([50, 60, 60])
  })
})

describe('a tool', () => {
  it('that a complete list does not hold is marked, until it is listed again', async () => {
    let hidden = ''
    const simulated = await simulatedApp({
      sandbox: { conversations: 20, agents: 2 },
      through: ({ url }) =>
        toolsAnswer(url, (_, data) => ({
          status: 200,
          body: { success: true, data: (data as { id: string }[]).filter(({ id }) => id !== hidden) },
        })),
    })
    await simulated.sync()
    const [one] = await simulated.rows<{ agent: string; id: string }>(
      'SELECT agent_id AS agent, tool_id AS id FROM tools',
    )
    hidden = one!.id
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect(await missing(simulated)).toEqual([`${one!.agent} ${one!.id}`])
    hidden = ''
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect(await missing(simulated)).toEqual([])
  })

  it('is not marked by a list that says that it is not complete', async () => {
    let isShort = false
    const simulated = await simulatedApp({
      sandbox: { conversations: 20, agents: 1 },
      through: ({ url }) =>
        toolsAnswer(url, (_, data) =>
          isShort ? { status: 200, body: { success: true, data: [], total: data.length } } : undefined,
        ),
    })
    await simulated.sync()
    isShort = true
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect(await missing(simulated)).toEqual([])
    const issues = await simulated.rows("SELECT issue FROM _issues WHERE record = 'tool' AND path = '(listing)'")
    expect(issues).toHaveLength(1)
  })

  it('is missing with its agent, which is not asked for tools any more, and back with it', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 20 } })
    await simulated.sync()
    const gone = simulated.sandbox.world.agentIds()[0]!
    const own = await simulated.rows<{ id: string }>(
      `SELECT tool_id AS id FROM tools WHERE agent_id = '${gone}' ORDER BY id`,
    )
    simulated.sandbox.conditions.set({ gone: [gone] })
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect(await missing(simulated)).toEqual(own.map(({ id }) => `${gone} ${id}`))
    expect((await requested(simulated)).slice(3)).not.toContain(gone)
    simulated.sandbox.conditions.set({ gone: [] })
    await simulated.sync()
    expect(await missing(simulated)).toEqual([])
    expect((await requested(simulated)).at(-1)).toBe(gone)
  })

  it('of an agent that the vendor answers 404 for is missing; the agent is not', async () => {
    let refused = ''
    const simulated = await simulatedApp({
      sandbox: { conversations: 20 },
      through: ({ url }) => toolsAnswer(url, agentId => (agentId === refused ? NOT_FOUND : undefined)),
    })
    await simulated.sync()
    refused = simulated.sandbox.world.agentIds()[0]!
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect((await missing(simulated)).every(id => id.startsWith(refused))).toBe(true)
    expect(await missing(simulated)).not.toEqual([])
    expect(await simulated.rows(`SELECT 1 FROM ${AGENTS.record.table} WHERE _missing_since IS NOT NULL`)).toEqual([])
  })

  it('is brought back by a replay, marks included, without one request', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 20 } })
    await simulated.sync()
    simulated.sandbox.conditions.set({ gone: [simulated.sandbox.world.agentIds()[0]!] })
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    const tables = ['tools', 'tool_fields', 'tool_variables', 'tool_channels']
    const all = () =>
      Promise.all(
        tables.map(table =>
          simulated.rows(`SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at')) FROM ${table} ORDER BY ALL`),
        ),
      )
    const [before, requests] = [await all(), await requested(simulated)]
    expect(before.every(rows => rows.length > 0)).toBe(true)
    await simulated.close()
    await replay({ config: simulated.config })
    await simulated.restart()
    expect(await all()).toEqual(before)
    await simulated.sync()
    expect(await requested(simulated)).toEqual(requests)
  })
})

describe('a vendor that does not serve tools', () => {
  it.each([
    ['as another server would', { status: 404, body: 'not found' }, 1],
    ['with 503', { status: 503 }, 1],
    ['with 400', { status: 400 }, 3],
  ])(
    '%s fails no sync, is asked again by the next, and takes nothing from organizations',
    async (_, answer, requests) => {
      let asked = 0
      const simulated = await simulatedApp({
        sandbox: { conversations: 60 },
        through: ({ url }) =>
          toolsAnswer(url, () => {
            asked += 1
            return answer
          }),
      })
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      expect(asked).toBe(requests)
      expect(await simulated.rows('SELECT 1 FROM organizations')).toHaveLength(2)
      await simulated.sync()
      expect(asked).toBe(2 * requests)
      expect(await simulated.rows('SELECT 1 FROM tools')).toEqual([])
    },
  )
})
