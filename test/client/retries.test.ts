import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import * as script from './scripted-server.ts'
import { clientFor, failureOf, observer } from './vendor-fixture.ts'

const { json, PAGE } = script
const page = { agentId: 'a1', query: {} }
const wholePage = JSON.stringify(PAGE)

describe('a transient fault', () => {
  const faults: [string, script.ScriptedAnswer, { status: number | null; error: string }][] = [
    ['a 500', json({ message: 'oops', code: 'INTERNAL_SERVER_ERROR' }, 500), { status: 500, error: 'API_UNAVAILABLE' }],
    ['a 502 from a proxy', script.bytes('<html>', 'text/html', 502), { status: 502, error: 'API_UNAVAILABLE' }],
    ['a connection that is closed', script.hangUp, { status: null, error: 'API_UNAVAILABLE' }],
    ['headers that do not come', script.silence, { status: null, error: 'API_TIMEOUT' }],
    ['a body that stalls', script.beginning(wholePage, 'stall'), { status: 200, error: 'API_TIMEOUT' }],
    ['a body that trickles', script.trickle, { status: 200, error: 'API_TIMEOUT' }],
    ['a body that is cut off', script.beginning(wholePage, 'hang up'), { status: 200, error: 'API_NOT_JSON' }],
  ]

  it.each(faults)('is retried: %s', async (_name, fault, outcome) => {
    // The timeout is short only if one is expected: on a busy machine, other answers may be slow.
    const timeoutMs = outcome.error === 'API_TIMEOUT' ? 500 : 30_000
    const { client, server } = await clientFor([fault, json(PAGE)], { timeoutMs })
    const { attempts, outcomes } = observer()
    const answer = await client.exportConversations({ ...page, attempts })
    expect(answer.envelope.data).toEqual(PAGE.data)
    expect(server.requests).toHaveLength(2)
    expect(outcomes).toMatchObject([
      { attempt: 1, ...outcome },
      { attempt: 2, status: 200, error: null },
    ])
  })

  it('ends with its last error after the second attempt that reached the vendor: each may be billed', async () => {
    const { client, server, waits } = await clientFor([json({ message: 'oops' }, 500)])
    const error = await failureOf(client.exportConversations(page))
    expect(error).toMatchObject({ code: 'API_UNAVAILABLE', facts: { status: 500, attempts: 2, agentId: 'a1' } })
    expect(server.requests).toHaveLength(2)
    expect(waits).toEqual([250])
  })

  it('is thrown itself if the observer forbids a retry', async () => {
    const { client, server } = await clientFor([json({ message: 'oops' }, 500)])
    const { attempts, outcomes } = observer(2)
    const error = await failureOf(client.exportConversations({ ...page, attempts }))
    expect(error).toMatchObject({ code: 'API_UNAVAILABLE', facts: { attempts: 2 } })
    expect(server.requests).toHaveLength(2)
    expect(outcomes).toHaveLength(2)
  })

  it('cannot occur if not even the first attempt is allowed: nothing is sent', async () => {
    const { client, server } = await clientFor([json(PAGE)])
    const { attempts, outcomes } = observer(0)
    const error = await failureOf(client.exportConversations({ ...page, attempts }))
    expect(error).toMatchObject({ code: 'HOUR_SPENT', facts: { attempts: 0 } })
    expect(server.requests).toHaveLength(0)
    expect(outcomes).toHaveLength(0)
  })

  it('is retried slightly later than a 503 asks', async () => {
    const { client, waits } = await clientFor([json({}, 503, { 'retry-after': '7' }), json(PAGE)])
    await client.exportConversations(page)
    expect(waits).toEqual([7_250])
  })

  it('is thrown at once if the vendor asks for too long a wait', async () => {
    const { client, waits } = await clientFor([json({}, 503, { 'retry-after': '3600' })])
    const error = await failureOf(client.exportConversations(page))
    expect(error).toMatchObject({ code: 'API_UNAVAILABLE', facts: { retryAfterMs: 3_600_000, attempts: 1 } })
    expect(waits).toEqual([])
  })
})

describe('an answer that arrived completely and cannot be read', () => {
  it.each([
    ['JSON that ends early', script.bytes(wholePage.slice(0, -9), 'application/json')],
    ['a web page', script.bytes('<!doctype html>', 'text/html')],
    ['an empty body', script.bytes('', 'application/json')],
  ])('is not requested again unchanged, since it may have been billed: %s', async (_name, answer) => {
    const { client, server } = await clientFor([answer, json(PAGE)])
    const error = await failureOf(client.exportConversations(page))
    expect(error.code).toBe('API_NOT_JSON')
    expect(server.requests).toHaveLength(1)
  })
})

describe('an answer that no retry would change', () => {
  it.each([
    ['larger than any page', script.bytes('x'.repeat(5_000), 'application/json')],
    ['a redirect', (response => response.writeHead(302, { location: '/login' }).end()) as script.ScriptedAnswer],
    ['not as documented', json({ success: true, data: 'none' })],
  ])('is a protocol error at once: %s', async (_name, answer) => {
    const { client, server } = await clientFor([answer], { maxBodyBytes: 4_000 })
    const error = await failureOf(client.exportConversations(page))
    expect(error.code).toBe('API_PROTOCOL')
    expect(server.requests).toHaveLength(1)
  })
})

describe('a signal', () => {
  it.each([
    ['while the headers are awaited', script.silence],
    ['in the middle of the body', script.beginning(wholePage, 'stall')],
    ['in the middle of a refusal', script.beginning(wholePage, 'stall', 404)],
  ])('stops a request at once %s', async (_name, answer) => {
    const { client } = await clientFor([answer])
    const { attempts, outcomes } = observer()
    const stopped = new AbortController()
    const failure = failureOf(client.exportConversations({ ...page, signal: stopped.signal, attempts }))
    await sleep(50)
    const before = performance.now()
    stopped.abort()
    expect(await failure).toMatchObject({
      code: 'INTERRUPTED',
      facts: { path: '/v3/agents/a1/convos/export', attempts: 1 },
    })
    expect(performance.now() - before).toBeLessThan(5_000)
    expect(outcomes).toMatchObject([{ attempt: 1, error: 'INTERRUPTED' }])
  })

  it('stops a wait between attempts', async () => {
    const stopped = new AbortController()
    const { client, server } = await clientFor([json({}, 500)], {
      sleep: async (_ms, signal) => {
        stopped.abort()
        signal!.throwIfAborted()
      },
    })
    const error = await failureOf(client.exportConversations({ ...page, signal: stopped.signal }))
    expect(error).toMatchObject({ code: 'INTERRUPTED', facts: { attempts: 1 } })
    expect(server.requests).toHaveLength(1)
  })

  it('that fired earlier prevents the request, and the observer is not asked', async () => {
    const { client, server } = await clientFor([json(PAGE)])
    const { attempts, outcomes } = observer()
    const error = await failureOf(client.exportConversations({ ...page, signal: AbortSignal.abort(), attempts }))
    expect(error.code).toBe('INTERRUPTED')
    expect(server.requests).toHaveLength(0)
    expect(outcomes).toHaveLength(0)
  })
})
