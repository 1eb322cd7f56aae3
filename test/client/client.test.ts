import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { ReadTarget, Target } from '../../src/client/address.ts'
import type { Caller } from '../../src/client/caller.ts'
import { createVendorClient } from '../../src/client/client.ts'
import { bytes, json, later, PAGE } from './scripted-server.ts'
import { clientFor, failureOf, TOKEN } from './vendor-fixture.ts'

describe('an export', () => {
  it('is requested as documented, with agent, cursor and ids encoded', async () => {
    const { client, server } = await clientFor([json(PAGE)], { path: '/base/v3/' })
    const query = { limit: 100, sort: 'asc', fromTs: 1_000, toTs: 2_999, cursor: 'a+b/c=&d' } as const
    await client.exportConversations({ agentId: 'a/1 ü', query })
    await client.exportConversations({ agentId: 'a1', query: { convoIds: ['c 1', 'c&2'] } })
    expect(server.requests.map(request => request.url)).toEqual([
      '/base/v3/agents/a%2F1%20%C3%BC/convos/export?limit=100&sort=asc&fromTs=1000&toTs=2999&cursor=a%2Bb%2Fc%3D%26d',
      '/base/v3/agents/a1/convos/export?convoIds=c%201,c%262',
    ])
    expect(server.requests[0]!.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      'accept-encoding': 'identity',
      accept: 'application/json',
      'user-agent': 'convohouse',
    })
  })

  it('keeps the body byte for byte, besides its parsed contents and times', async () => {
    const body = Buffer.from(`\ufeff${JSON.stringify(PAGE, null, 3)}\n`)
    const date = 'Fri, 20 Nov 2026 20:49:46 GMT'
    const clock = [5_000, 5_250]
    const { client } = await clientFor(
      [response => response.writeHead(200, { date, 'content-type': 'application/json' }).end(body)],
      {
        now: () => clock.shift()!,
      },
    )
    const answer = await client.exportConversations({ agentId: 'a1', query: {} })
    expect(answer.exchange).toEqual({
      status: 200,
      body,
      contentType: 'application/json',
      contentEncoding: null,
      serverDateMs: Date.parse(date),
      retryAfterMs: null,
      sentAtMs: 5_000,
      receivedAtMs: 5_250,
    })
    expect(answer.envelope.data).toEqual(PAGE.data)
    expect(answer.invalidUtf8).toBe(false)
    expect(answer.envelope).toMatchObject({ hasMore: true, nextCursor: 'next+/=', scanned: 3 })
  })

  it('accepts a body that is not UTF-8, and reports it', async () => {
    const body = Buffer.from(JSON.stringify(PAGE).replace('Zoë', 'Zo?'), 'utf8')
    body[body.indexOf('Zo?') + 2] = 0xeb
    const { client } = await clientFor([bytes(body, 'application/json')])
    const answer = await client.exportConversations({ agentId: 'a1', query: {} })
    expect(answer.invalidUtf8).toBe(true)
    expect(answer.envelope.data).toEqual([{ ID: 'c1', userName: 'Zo\ufffd 🌍' }])
    expect(answer.exchange.body.equals(body)).toBe(true)
  })

  it('may lack paging only in the answer to a selection', async () => {
    const { client } = await clientFor([json({ data: [] })])
    const selected = await client.exportConversations({ agentId: 'a1', query: { convoIds: ['gone'] } })
    expect(selected.envelope).toMatchObject({ data: [], hasMore: false, nextCursor: null })
    const paged = await failureOf(client.exportConversations({ agentId: 'a1', query: {} }))
    expect(paged).toMatchObject({ code: 'API_PROTOCOL', facts: { status: 200, agentId: 'a1' } })
    expect(paged.message).toContain('GET /v3/agents/a1/convos/export was answered, but:')
  })
})

describe('the client of a sync', () => {
  it('has a caller whose type accepts no request but GETs', async () => {
    const accepts = (caller: Caller<ReadTarget>, target: Target<'DELETE'>) =>
      // @ts-expect-error: a DELETE
      caller.run({ target, accept: '', keepsBody: false, read: () => null })
    expect(accepts).toBeTypeOf('function')
  })
})

describe('connections', () => {
  it('never exceed the limit, and a queued request does not ask its observer yet', async () => {
    const { client, server } = await clientFor([later(30, json(PAGE))], { connections: 2 })
    const running = new Set<number>()
    let most = 0
    const pages = Array.from({ length: 6 }, (_, index) => {
      const attempts = {
        allow: () => {
          most = Math.max(most, running.add(index).size)
          return true
        },
        outcome: () => void running.delete(index),
      }
      return client.exportConversations({ agentId: 'a1', query: {}, attempts })
    })
    await Promise.all(pages)
    expect(server.mostAtOnce()).toBe(2)
    expect(most).toBe(2)
  })

  it('are not opened by a closed client', async () => {
    const { client, server } = await clientFor([json(PAGE)])
    await client.close()
    const error = await failureOf(client.exportConversations({ agentId: 'a1', query: {} }))
    expect(error.code).toBe('INTERRUPTED')
    expect(server.requests).toHaveLength(0)
  })
})

describe('a client', () => {
  it('refuses an empty token and one that is invalid in a header, without showing it', () => {
    const open = (token: string) => () => createVendorClient({ apiUrl: 'http://localhost', token })
    expect(open('')).toThrow(expect.objectContaining({ code: 'TOKEN_MISSING' }))
    expect(open('canary\n')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(open('canary\n')).not.toThrow(/canary/)
  })

  it('does not show its token when it is printed', async () => {
    const { client } = await clientFor([json(PAGE)])
    expect(inspect(client, { depth: null, showHidden: true })).not.toContain(TOKEN)
  })
})
