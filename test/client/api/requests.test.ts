// How requests are made: which are repeated, which are refused before they are sent, and what errors say.
import { createServer } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ApiClient, createApiClient } from '../../../src/client/api/api-client.ts'
import { isCode } from '../../../src/core/errors.ts'
import { freePort, listening } from '../../ports.ts'
import * as script from '../scripted-server.ts'
import { failureOf } from '../vendor-fixture.ts'
import { scriptedApi, scriptedApiWith } from './api-scene.ts'

const { json } = script

/** Each write operation, with arguments that it accepts. */
const WRITES: Record<string, (api: ApiClient) => Promise<unknown>> = {
  createTool: api => api.createTool({ agentId: 'a1', tool: { name: 'n', description: 'd' } }),
  createVariable: api => api.createVariable({ agentId: 'a1', variable: { key: 'k' } }),
  updateWorkspace: api => api.updateWorkspace({ workspaceId: 'w1', updates: {} }),
  updateCustomMetric: api => api.updateCustomMetric({ agentId: 'a1', metricId: 'm1', metric: {} }),
  deleteCrawlerJob: api => api.deleteCrawlerJob({ workspaceId: 'w1', jobId: 'j1' }),
  deleteOrganization: api => api.deleteOrganization({ orgId: 'o1' }),
}

const UNCERTAIN = 'look at the result before you repeat it'

describe('a write', () => {
  const lost: [string, script.ScriptedAnswer, string][] = [
    ['a 503', json({ message: 'busy', code: 'SERVICE_UNAVAILABLE' }, 503), 'API_UNAVAILABLE'],
    ['no answer', script.silence, 'API_TIMEOUT'],
    ['a body that is cut off', script.beginning('{"success":true}', 'hang up'), 'API_NOT_JSON'],
    ['an answer of another shape', json({ success: false, message: 'no' }), 'API_PROTOCOL'],
  ]

  it.each(lost)('is not repeated after %s, since the vendor may have carried it out', async (_, answer, code) => {
    // The timeout is short only if one is expected: on a busy machine, other answers may be slow.
    const { api, server } = await scriptedApiWith({ timeoutMs: code === 'API_TIMEOUT' ? 700 : 30_000 }, answer)
    const error = await failureOf(api.createTool({ agentId: 'a1', tool: { name: 'n', description: 'd' } }))
    expect(error).toMatchObject({ code, facts: { path: '/v3/agents/a1/tools' } })
    expect(error.hint).toContain(UNCERTAIN)
    expect(error.message).toContain('POST /v3/agents/a1/tools')
    expect(server.requests).toHaveLength(1)
  })

  it.each(Object.entries(WRITES))('is sent once: %s', async (_name, write) => {
    const { api, server } = await scriptedApi(json({ message: 'busy' }, 503))
    expect((await failureOf(write(api))).code).toBe('API_UNAVAILABLE')
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]!.method).not.toBe('GET')
  })

  it('is repeated if the connection was refused, because nothing was sent', async () => {
    const server = createServer((_, response) => void response.end('{"success":true,"deletedClientsCount":2}'))
    const port = await freePort()
    const sleep = () => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
    const api = createApiClient({ apiUrl: `http://127.0.0.1:${port}`, token: 'tok', sleep })
    onTestFinished(async () => {
      await api.close()
      server.closeAllConnections()
      server.close()
    })
    expect(await api.deleteOrganization({ orgId: 'o1' })).toEqual({ success: true, deletedClientsCount: 2 })
  })

  it('says that nothing was sent if no attempt could connect', async () => {
    const api = createApiClient({ apiUrl: 'http://127.0.0.1:1', token: 'tok', maxAttempts: 2, sleep: async () => {} })
    onTestFinished(() => api.close())
    const error = await failureOf(api.deleteOrganization({ orgId: 'o1' }))
    expect(error).toMatchObject({ code: 'API_UNAVAILABLE', facts: { attempts: 2 } })
    expect(error.message).toContain('(DELETE /v3/orgs/o1, ECONNREFUSED)')
    expect(error.hint).toContain('nothing was sent')
    expect(error.hint).not.toContain(UNCERTAIN)
  })

  it('that is stopped says that it may have been carried out', async () => {
    const { api } = await scriptedApi(script.silence)
    const stop = new AbortController()
    const failure = failureOf(api.deleteOrganization({ orgId: 'o1' }, { signal: stop.signal }))
    setTimeout(() => stop.abort(), 100)
    expect(await failure).toMatchObject({ code: 'INTERRUPTED', hint: expect.stringContaining(UNCERTAIN) })
  })

  it('has a JSON body under its documented key, and no header of a body if it has none', async () => {
    const bodies: string[] = []
    const types: (string | undefined)[] = []
    const server = createServer(async (request, response) => {
      types.push(request.headers['content-type'])
      let body = ''
      for await (const piece of request) body += piece
      bodies.push(body)
      response.end('{"success":true,"data":{},"metric":{},"deletedClientsCount":0}')
    })
    const api = createApiClient({ apiUrl: `http://127.0.0.1:${await listening(server)}/v3`, token: 'tok' })
    onTestFinished(() => api.close())
    for (const write of Object.values(WRITES)) await write(api)
    expect(bodies).toEqual([
      '{"tool":{"name":"n","description":"d"}}',
      '{"variable":{"key":"k"}}',
      '{"updates":{}}',
      '{"metric":{}}',
      '',
      '',
    ])
    expect(types).toEqual([...Array(4).fill('application/json'), undefined, undefined])
  })
})

describe('a read', () => {
  it('returns fields that are not documented, and refuses an answer without the documented list', async () => {
    const answer = { success: true, data: [{ id: 't1', name: 'n', brandNew: [1] }], later: true }
    const { api } = await scriptedApi(json(answer), json({ success: true, data: {} }))
    expect(await api.listTools({ agentId: 'a1' })).toEqual(answer)
    expect(await failureOf(api.listTools({ agentId: 'a1' }))).toMatchObject({
      code: 'API_PROTOCOL',
      message: expect.stringContaining('The listTools answer is not as documented: data'),
    })
  })

  it('of agents needs one of the two lists', async () => {
    const { api } = await scriptedApi(json({ starredAgents: [] }), json({ agents: null }))
    expect(await api.searchAgents()).toEqual({ starredAgents: [] })
    const error = await failureOf(api.searchAgents())
    expect(error.message).toContain('it has neither agents nor starredAgents')
  })

  it('has no API token in its answer or error, even if the vendor echoes it', async () => {
    const token = 'tok_4f9Kq2Zs8vLw'
    const { api } = await scriptedApi(
      json({ data: [], echo: `Bearer ${token}` }),
      json({ message: `no ${token}`, code: 'X', issues: [{ message: `bad ${token}` }] }, 400),
    )
    expect(JSON.stringify(await api.listTools({ agentId: 'a1' }))).not.toContain(token)
    const error = await failureOf(api.listTools({ agentId: 'a1' }))
    expect(error.issues).toHaveLength(1)
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain(token)
  })

  it('of an export that fails says that conversations may have been billed, and keeps the bytes', async () => {
    const { api } = await scriptedApi(script.bytes('{"data":[{"ID":"c1"', 'application/json'))
    const error = await failureOf(api.exportConversations({ agentId: 'a1' }))
    expect(error.exchange?.body.toString()).toBe('{"data":[{"ID":"c1"')
    const tools = await failureOf(api.listTools({ agentId: 'a1' }))
    expect(tools.exchange).toBeUndefined()
    const busy = await scriptedApi(json({ message: 'busy' }, 503))
    const lost = await failureOf(busy.api.exportConversations({ agentId: 'a1' }))
    expect(lost.hint).toContain('may have been billed')
  })
})

describe('arguments', () => {
  /** Returns the error of a call whose arguments the types forbid; the server must not receive a request. */
  async function refusal(name: keyof ApiClient, given: unknown) {
    const { api, server } = await scriptedApi(json({}))
    const call = api[name] as unknown as (given: unknown) => Promise<unknown>
    const error = await call(given).catch((reason: unknown) => reason)
    expect(server.requests).toHaveLength(0)
    if (isCode(error, 'FLAG_INVALID')) return `${error.message}. ${error.hint}`
    throw error
  }

  const cases: [keyof ApiClient, unknown, string][] = [
    ['listTools', {}, 'listTools needs agentId.'],
    ['listTools', { agentId: '..' }, 'agentId cannot be "..".'],
    ['listTools', { agentId: 7 }, 'agentId cannot be 7.'],
    ['deleteOrganization', { orgID: 'o' }, 'deleteOrganization has no argument orgID. Its arguments are: orgId.'],
    ['createTool', { agentId: 'a', tool: [] }, 'createTool needs tool, an object.'],
    ['listVoices', { limit: 501 }, 'limit cannot be 501. Give a whole number from 1 to 500.'],
    ['listVoices', { offset: -1 }, 'offset cannot be -1. Give a whole number of 0 or more.'],
    ['listVoices', { language: '' }, 'language cannot be "".'],
    ['listVoices', { providers: 'one' }, 'providers cannot be "one". Give a list of texts.'],
    ['exportConversations', { agentId: 'a', limit: 101 }, 'Give a whole number from 1 to 100.'],
    ['exportConversations', { agentId: 'a', sort: 'up' }, 'Give one of desc, asc.'],
    ['exportConversations', { agentId: 'a', convoIds: [] }, 'No conversation id is given.'],
    ['exportConversations', { agentId: 'a', convoIds: ['a,b'] }, 'contains a comma'],
    ['exportConversations', { agentId: 'a', convoIds: Array(501).fill('c') }, 'Give at most 500'],
    ['searchAgents', { starredOnly: 'yes' }, 'Give true or false.'],
  ]

  it.each(cases)('of %s that cannot be sent are refused: %j', async (name, given, text) => {
    expect(await refusal(name, given)).toContain(text)
  })

  it('are encoded, and errors show neither cursors nor ids of conversations', async () => {
    const { api, server } = await scriptedApi(json({ message: 'no', code: 'X' }, 400))
    const agentId = 'a/1 ü?'
    await failureOf(api.exportConversations({ agentId, limit: 5, cursor: 'a+b&c=' }))
    const selected = await failureOf(api.exportConversations({ agentId, convoIds: ['c 1', 'c&2'] }))
    await failureOf(api.listVoices({ providers: ['eleven labs', 'x'], gender: 'f', offset: 3 }))
    await failureOf(api.searchAgents({ starredOnly: true, search: 'a&b' }))
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/v3/agents/a%2F1%20%C3%BC%3F/convos/export?limit=5&cursor=a%2Bb%26c%3D',
      '/v3/agents/a%2F1%20%C3%BC%3F/convos/export?convoIds=c%201,c%262',
      '/v3/voices?gender=f&providers=eleven%20labs%2Cx&offset=3',
      '/v3/agents/search?search=a%26b&starredOnly=true',
    ])
    expect(selected.message).toContain('convoIds=…(2)')
  })
})
