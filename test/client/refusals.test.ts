import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import * as script from './scripted-server.ts'
import { clientFor, failureOf, observer, TOKEN } from './vendor-fixture.ts'

const { json } = script
const DATE = 'Fri, 20 Nov 2026 20:49:46 GMT'
const page = { agentId: 'a1', query: { limit: 100, cursor: 'cursor-canary', convoIds: ['person-canary'] } }

describe('a refusal', () => {
  it.each([
    [400, 'API_BAD_REQUEST'],
    [401, 'API_UNAUTHORIZED'],
    [402, 'API_FORBIDDEN'],
    [403, 'API_FORBIDDEN'],
    [404, 'API_NOT_FOUND'],
    [409, 'API_BAD_REQUEST'],
    [422, 'API_BAD_REQUEST'],
    [429, 'API_RATE_LIMITED'],
  ])('with status %i is %s and final', async (status, code) => {
    const { client, server } = await clientFor([
      json({ message: 'No.', code: 'WHY', issues: [{ message: 'Because.' }] }, status),
    ])
    const { attempts, outcomes } = observer()
    const error = await failureOf(client.exportConversations({ ...page, attempts }))
    expect(error).toMatchObject({ code, facts: { status, vendorCode: 'WHY', agentId: 'a1', attempts: 1 } })
    expect(error.message).toBe(
      `GET /v3/agents/a1/convos/export?limit=100&cursor=…&convoIds=…(1) was answered with ${status}: "No.; Because."`,
    )
    expect(error.hint).toMatch(/\.$/)
    expect(server.requests).toHaveLength(1)
    expect(outcomes).toMatchObject([{ attempt: 1, status, error: code }])
  })

  it.each([
    ['a web page', script.bytes('<html>not here</html>', 'text/html', 404)],
    ['a gateway', json({ message: 'no Route matched with those values' }, 404)],
    ['a code that is a number', json({ message: 'Not found', code: 404, issues: [] }, 404)],
    ['issues of another kind', json({ message: 'Not found', code: 'NOT_FOUND', issues: 'none' }, 404)],
    ['null', json(null, 404)],
  ])("with a 404 that is not the vendor's (%s) says nothing about the agent", async (_, answer) => {
    const { client, server } = await clientFor([answer])
    const error = await failureOf(client.exportConversations(page))
    expect(error).toMatchObject({ code: 'API_PROTOCOL', facts: { status: 404 } })
    expect(error.message).toContain("without the vendor's error body")
    expect(server.requests).toHaveLength(1)
  })

  it.each([
    [408, 'API_TIMEOUT'],
    [425, 'API_UNAVAILABLE'],
  ])('with status %i is %s and is retried', async (status, code) => {
    const { client, server } = await clientFor([json({ message: 'Later.', code: 'WHY' }, status)], { maxAttempts: 2 })
    expect(await failureOf(client.exportConversations(page))).toMatchObject({ code, kind: 'transient' })
    expect(server.requests).toHaveLength(2)
  })

  it.each([
    ['in seconds', '90', 90_000],
    ['as a date, by the clock of the vendor', 'Fri, 20 Nov 2026 20:50:46 GMT', 60_000],
  ])('because of the rate limit reports when to retry, given %s', async (_name, retryAfter, retryAfterMs) => {
    const { client } = await clientFor([json({ message: 'slow down' }, 429, { 'retry-after': retryAfter, date: DATE })])
    const error = await failureOf(client.exportConversations(page))
    expect(error.facts).toMatchObject({ retryAfterMs, serverDateMs: Date.parse(DATE) })
    expect(error.exchange).toMatchObject({ status: 429, retryAfterMs })
  })

  it('keeps its meaning if its body is cut off', async () => {
    const { client } = await clientFor([script.beginning('{"message":"slow down"}', 'hang up', 429)])
    expect(await failureOf(client.exportConversations(page))).toMatchObject({ code: 'API_RATE_LIMITED' })
  })

  it('in another format is reported with status, size and hash, without its bytes', async () => {
    const body = '<html>canary of a proxy</html>'
    const { client } = await clientFor([script.bytes(body, 'text/html', 403)])
    const error = await failureOf(client.exportConversations(page))
    expect(error.facts).toMatchObject({
      status: 403,
      bodyBytes: body.length,
      bodySha256: createHash('sha256').update(body).digest('hex'),
      contentType: 'text/html',
    })
    expect(error.exchange?.body.toString()).toBe(body)
    expect(everyWayToPrint(error)).not.toMatch(/canary/)
  })

  it('is quoted in one short line, no matter what the vendor writes', async () => {
    const message = `first\nsecond \u001b[31mred ${'x'.repeat(500)}`
    const { client } = await clientFor([json({ message }, 400)])
    const error = await failureOf(client.exportConversations({ agentId: 'a1', query: {} }))
    const quoted = /"(.*)"$/.exec(error.message)![1]!
    expect(quoted).toMatch(/^first second \[31mred x+…$/)
    expect(quoted).toHaveLength(200)
  })
})

describe('the token', () => {
  const echo = `you sent Bearer ${TOKEN} (${encodeURIComponent(TOKEN)})`
  const answers: [string, script.ScriptedAnswer][] = [
    ['a refusal that echoes it', json({ message: echo, code: TOKEN, issues: [{ message: echo }] }, 401)],
    ['a rate limit that echoes it', json({ message: echo }, 429)],
    ['a failure that echoes it', json({ error: echo }, 500)],
    ['a web page that echoes it', script.bytes(`<p>${echo}`, `text/html; note="${TOKEN}"`)],
    ['an undocumented answer that echoes it', json({ success: false, message: echo })],
    ['a cut body', script.beginning(JSON.stringify({ message: echo, more: echo }), 'hang up')],
    ['a connection that is closed', script.hangUp],
    ['a timeout', script.silence],
    ['bytes that are not HTTP', response => response.socket!.end(`${TOKEN}\r\n\r\n`)],
  ]

  it.each(answers)('is in no error: %s', async (_name, answer) => {
    const { client } = await clientFor([answer], {
      maxAttempts: 2,
      timeoutMs: answer === script.silence ? 100 : 30_000,
    })
    const error = await failureOf(client.exportConversations({ agentId: TOKEN, query: { cursor: TOKEN } }))
    const printed = everyWayToPrint(error)
    expect(printed).not.toContain(TOKEN)
    expect(printed).not.toContain(encodeURIComponent(TOKEN))
    expect(printed).not.toContain('authorization')
  })

  it('is in no error, nor are cursor and ids, when the request is stopped', async () => {
    const { client } = await clientFor([script.silence])
    const error = await failureOf(client.exportConversations({ ...page, signal: AbortSignal.timeout(30) }))
    expect(error.code).toBe('INTERRUPTED')
    expect(everyWayToPrint(error)).not.toMatch(/canary/i)
  })
})

function everyWayToPrint(error: Error): string {
  const inspected = inspect(error, { depth: null, showHidden: true, getters: false })
  return [
    error.message,
    String(error),
    error.stack,
    JSON.stringify(error),
    JSON.stringify({ ...error }),
    inspected,
  ].join('\n')
}
