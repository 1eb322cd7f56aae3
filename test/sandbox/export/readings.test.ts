import { describe, expect, it } from 'vitest'
import { LITERAL, READING_NAMES, READINGS, type ReadingName, type Readings } from '../../../src/sandbox/readings.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { bodyOf } from '../../../src/sandbox/webhooks/webhooks.ts'
import { call, exportPath, firstAgent, open, refusal, START_MS } from '../caller.ts'
import { SECTION_2_10, STRUCTURED } from './section-2-10.ts'

const MINUTE = 60_000
const WORLD = { conversations: 80, agents: 7, traffic: true, burstEvery: 15, burstSize: 6 }

const opened = (readings: Partial<Readings>, more: object = {}) => open({ ...WORLD, ...more, readings })

interface Seen {
  status: number
  retryAfter: string | null
  date: string | null
  text: string
}

async function see(sandbox: Sandbox, path: string, write?: { method: string; body: object }): Promise<Seen> {
  const headers = { authorization: 'Bearer test-token' }
  const answer = await call(sandbox, path, write && { ...write, headers, body: JSON.stringify(write.body) })
  const header = (name: string) => answer.headers.get(name)
  return { status: answer.status, retryAfter: header('retry-after'), date: header('date'), text: await answer.text() }
}

const json = ({ text }: Seen) => JSON.parse(text) as Record<string, unknown>

/** The answers and event bodies that readings can affect, in the same order for each sandbox; requests end at the rate limit. */
async function* everything(readings: Partial<Readings>): AsyncGenerator<Seen> {
  const sandbox = await opened(readings, { hourlyRequests: 24 })
  const { world, clock, conditions } = sandbox
  const agentId = firstAgent(sandbox)
  const ask = (path: string): Promise<Seen> => see(sandbox, path)
  clock.advance(30 * MINUTE)
  for (const query of ['', '?limit=5&page=1', '?limit=5&page=2']) yield await ask(`/v3/agents/search${query}`)
  for (const query of ['', '?limit=1&page=2']) yield await ask(`/v3/orgs/org_alpha/teams${query}`)
  const { nextCursorTs } = json(await ask(`/v3/agents/${agentId}/audit-log?limit=60`))
  for (const cursorTs of [nextCursorTs, 1e9]) yield await ask(`/v3/agents/${agentId}/audit-log?cursorTs=${cursorTs}`)
  const metric = `/v3/agents/${agentId}/custom-metrics/met_solved`
  yield await see(sandbox, metric, { method: 'PUT', body: { metric: {} } })
  for (const updates of [{ colour: 1 }, { marketplaceProfile: { username: 'nova-labs' } }])
    yield await see(sandbox, '/v3/workspaces/ws_demo', { method: 'PATCH', body: { updates } })
  yield await ask(exportPath('none'))
  yield await ask(exportPath(agentId, { limit: 0 }))
  yield await ask(exportPath(agentId, { page: 1 }))
  yield await ask(exportPath(agentId, { convoIds: `${[...world.conversations(agentId, clock.now())][0]!.id},none` }))
  const all = { sort: 'asc', limit: world.count(agentId, clock.now()) }
  for (let times = 0; times < 2; times++) yield await ask(exportPath(agentId, all))
  // The first `ts` that is not a whole second.
  const [at] = [...world.walk(agentId, { sort: 'asc', fromMs: 1, toMs: 9e15, after: undefined }, clock.now())]
    .map(({ ts }) => ts)
    .filter(ts => ts % 1_000 > 0)
  const second = Math.floor(at! / 1_000)
  for (const toTs of [second, second * 1_000]) yield await ask(exportPath(agentId, { ...all, fromTs: second, toTs }))
  let cursor: unknown
  for (let page = 0; page < 4; page++) {
    const paged = { sort: 'asc', limit: 4, ...(typeof cursor === 'string' && { cursor }) }
    const answer = await ask(exportPath(agentId, paged))
    yield answer
    const body = json(answer)
    cursor = body.nextCursor ?? (body.paging as Record<string, unknown>).nextCursor
    if (page > 0 && typeof paged.cursor === 'string') yield await ask(exportPath(agentId, paged))
  }
  clock.advance(11 * MINUTE)
  yield await ask(exportPath(agentId, { sort: 'asc', limit: 4, cursor: String(cursor) }))
  conditions.set({ paid: false })
  yield await ask(exportPath(agentId))
  conditions.set({ paid: true })
  for (let status = 0; status !== 429; ) {
    const answer = await ask(exportPath(agentId, { limit: 1 }))
    yield answer
    status = answer.status
  }
  for (const event of [...world.events(START_MS - 4_320 * MINUTE, START_MS)].slice(0, 9))
    yield {
      status: 0,
      retryAfter: null,
      date: null,
      text: bodyOf(event, {}, { secret: 's', readings: sandbox.readings }),
    }
}

const others = READING_NAMES.flatMap(name => READINGS[name].values.slice(1).map(value => [name, value] as const))

describe('a reading', () => {
  it('is served: each value changes an answer or an event', async () => {
    const plain: string[] = []
    for await (const seen of everything({})) plain.push(JSON.stringify(seen))
    const isSeen = async (readings: Partial<Readings>): Promise<boolean> => {
      let place = 0
      for await (const seen of everything(readings)) if (JSON.stringify(seen) !== plain[place++]) return true
      return place !== plain.length
    }
    // With equal sandboxes, any difference is due to the reading.
    expect(await isSeen({})).toBe(false)
    const unseen: string[] = []
    for (const [name, value] of others) if (!(await isSeen({ [name]: value }))) unseen.push(`${name}=${value}`)
    expect(unseen).toEqual([])
  })

  it('with an unknown name or value is refused at the start', async () => {
    await expect(opened({ paging: 'deep' } as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(opened({ pages: 'flat' } as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it.each<[Partial<Readings>, object]>([
    [{ paging: 'nested' }, { paging: { hasMore: true, limit: 4 } }],
    [{ paging: 'both' }, { hasMore: true, paging: { hasMore: true } }],
    [{ 'has-more': 'text' }, { hasMore: 'true' }],
    [{ numbers: 'text' }, { usage: { exportRequestCount: '1' }, rateLimit: { requestsPerHour: '1500' }, limit: '4' }],
    [{ echo: 's' }, { query: { fromTs: 1_700_000_000 } }],
    [{ usage: 'nested' }, { meta: { usage: { exportRequestCount: 1 } } }],
    [{ 'usage-lag': '1' }, { usage: { exportRequestCount: 0, billableUsedThisPeriod: 0 } }],
  ])('shows in the answer: %j', async (readings, shown) => {
    const sandbox = await opened(readings)
    const path = exportPath(firstAgent(sandbox), { limit: 4, fromTs: 1_700_000_000_000 })
    expect(json(await see(sandbox, path))).toMatchObject(shown)
  })
})

/** The ids of all pages, in whichever form the answers contain the paging fields. */
async function idsOf(sandbox: Sandbox, agentId: string, limit: number): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < 200; page++) {
    const body = json(await see(sandbox, exportPath(agentId, { sort: 'asc', limit, ...(cursor && { cursor }) })))
    const { hasMore, nextCursor } = body.paging ? { ...body, ...(body.paging as object) } : body
    ids.push(...(body.data as { ID: string }[]).map(({ ID }) => ID))
    cursor = nextCursor ? String(nextCursor) : undefined
    if (hasMore === undefined ? cursor === undefined : String(hasMore) !== 'true') return ids
  }
  throw new Error('the pages do not end')
}

const PAGED = [
  'paging',
  'has-more',
  'last-cursor',
  'last-page',
  'page-fill',
  'empty-pages',
  'ties',
  'cursor-life',
  'bounds',
] satisfies ReadingName[]

describe('paging to the end', () => {
  it.each(others.filter(([name]) => PAGED.some(paged => paged === name)))(
    'returns every conversation once: %s=%s',
    async (name, value) => {
      const sandbox = await opened({ [name]: value })
      const agentId = firstAgent(sandbox)
      const truth = [...sandbox.world.conversations(agentId, START_MS)].filter(one => one.billableSessions > 0)
      for (const limit of [3, 100]) {
        expect((await idsOf(sandbox, agentId, limit)).toSorted()).toEqual(truth.map(({ id }) => id).toSorted())
      }
    },
  )
})

/** Paths of every value in a record, except those of type "any". */
function paths(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap(element => paths(element, `${path}[]`))
  if (typeof value !== 'object' || value === null) return [path]
  const inner = Object.entries(value).flatMap(([key, one]) => paths(one, path === '' ? key : `${path}.${key}`))
  return path === '' ? inner : [path, ...inner]
}

const ANY =
  'origin capturedVariables campaignCalls sessions metrics funnelStepsMatched funnelScoreHistory funnelExtractedData'

describe('literal mode', () => {
  const literal = (more: object = {}) => open({ ...WORLD, conversations: 700, literal: true, ...more })

  it('answers the agent search with all agents and starred agents, and refuses every parameter', async () => {
    const sandbox = await literal({ agents: 130 })
    const body = json(await see(sandbox, '/v3/agents/search'))
    expect(Object.keys(body)).toEqual(['agents', 'starredAgents'])
    expect(body.agents).toHaveLength(130)
    for (const query of ['page=1', 'limit=100', 'workspaceId=ws_demo', 'sortBy=firstCreated', 'a=b'])
      expect(await refusal(sandbox, `/v3/agents/search?${query}`)).toMatchObject({ status: 400 })
  })

  it('answers a list of teams with the documented fields, and refuses every parameter', async () => {
    const sandbox = await literal()
    const body = json(await see(sandbox, '/v3/orgs/org_alpha/teams'))
    expect(Object.keys(body)).toEqual(['success', 'message', 'teams', 'total', 'hasMore'])
    expect(await refusal(sandbox, '/v3/orgs/org_alpha/teams?page=1')).toMatchObject({ status: 400 })
  })

  it('answers an export with the fields of section 4.12, and records with those of section 2.10', async () => {
    const sandbox = await literal()
    const known = new Set([...SECTION_2_10, ...STRUCTURED])
    const unlisted = new Set<string>()
    for (const agentId of sandbox.world.agentIds()) {
      const body = json(await see(sandbox, exportPath(agentId, { limit: 100, sort: 'asc' })))
      const fields = 'success message data usage rateLimit hasMore nextCursor limit mode scannedConvoCount source query'
      expect(fields.split(' ')).toEqual(expect.arrayContaining(Object.keys(body)))
      for (const record of body.data as Record<string, unknown>[]) {
        for (const name of [...ANY.split(' '), 'tokenUsage']) delete record[name]
        for (const path of paths(record)) {
          const plain = path.replace(/\[\]$/, '')
          if (!known.has(path) && !known.has(plain) && !plain.includes('metadata.')) unlisted.add(path)
        }
      }
    }
    expect([...unlisted]).toEqual([])
  })

  it('refuses undocumented parameters of an export, and ids in two values', async () => {
    const sandbox = await literal()
    const path = exportPath(firstAgent(sandbox))
    for (const query of ['page=2', 'workspaceId=ws_demo', 'convoIds=a&convoIds=b', 'limit=1&limit=2'])
      expect(await refusal(sandbox, `${path}${query}`)).toMatchObject({ status: 400 })
  })

  it('answers a request for an organization as documented, and refuses every parameter', async () => {
    const sandbox = await literal()
    expect(Object.keys(json(await see(sandbox, '/v3/orgs/org_alpha')))).toEqual(['success', 'message', 'data'])
    expect(await refusal(sandbox, '/v3/orgs/org_alpha?page=1')).toMatchObject({ status: 400 })
  })

  it('sends events without the undocumented field for their type', async () => {
    const sandbox = await literal()
    for (const event of sandbox.world.events(START_MS - 60 * MINUTE, START_MS))
      expect(bodyOf(event, {}, { secret: 's', readings: sandbox.readings })).not.toContain(`"${event.type}"`)
  })

  it('yields to an explicit reading', async () => {
    const sandbox = await literal({ readings: { 'agent-params': 'read' } })
    expect((await call(sandbox, '/v3/agents/search?page=1')).status).toBe(200)
    expect(LITERAL['agent-params']).toBe('refused')
  })
})
