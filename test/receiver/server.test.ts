// The receiver over HTTP: its answers, what it stores, and how it withstands attackers.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dial, headOf, SECRET, startTestReceiver, WORKSPACE } from './test-receiver.ts'

const test = (message: string) => ({ event: 'webhook_test', createdAt: 1, message })

describe('an event', () => {
  it('is answered with an empty 200, and is in the spool', async () => {
    const { post, sealed, metric } = await startTestReceiver()
    const answers = [await post(test('a')), await post(test('b'), `/webhooks/${WORKSPACE}`)]
    expect(await Promise.all(answers.map(async answer => [answer.status, await answer.text()]))).toEqual([
      [200, ''],
      [200, ''],
    ])
    expect(await metric('convohouse_webhooks_acked_total')).toBe(2)
    expect(await metric('convohouse_webhooks_ack_seconds_count')).toBe(2)
    expect(await metric('convohouse_spool_bytes_total')).toBeGreaterThan(100)
    expect(await sealed()).toEqual([test('a'), test('b')])
  })

  it('may arrive in pieces, and after its sender has asked for permission', async () => {
    const { receiver, sealed } = await startTestReceiver()
    const body = JSON.stringify({ ...test('ä'), workspaceSecret: SECRET })
    const { socket, answer } = dial(receiver)
    socket.write(headOf(Buffer.byteLength(body), 'Expect: 100-continue\r\n'))
    expect(await answer).toContain('100 Continue')
    for (const byte of Buffer.from(body)) socket.write(Buffer.from([byte]))
    const chunked = await fetch(`${receiver.url}/webhooks`, {
      method: 'POST',
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(chunked.status).toBe(200)
    expect(await sealed()).toEqual([test('ä'), test('ä')])
  })
})

describe('a request', () => {
  it.each([
    ['a wrong secret', '{"workspaceSecret":"x"}', '/webhooks', 401],
    ['another workspace', { event: 'webhook_test' }, '/webhooks/elsewhere', 401],
    ['no JSON', 'hello', '/webhooks', 400],
    ['no end of nesting', '['.repeat(90_000), '/webhooks', 400],
    ['nothing', '', '/webhooks', 400],
    ['too much', 'x'.repeat(100_001), '/webhooks', 413],
    ['another address', {}, '/elsewhere', 404],
    ['an invalid address', {}, '/webhooks/%E0%A4%A', 404],
  ])('with %s is refused', async (_what, body, path, status) => {
    const { post, sealed } = await startTestReceiver()
    const answer = await post(body, path)
    expect([answer.status, await answer.text()]).toEqual([status, ''])
    expect((await post(test('after'))).status).toBe(200)
    expect(await sealed()).toEqual([test('after')])
  })

  it('with another method is answered with the allowed one', async () => {
    const { receiver, metric } = await startTestReceiver()
    const answer = await fetch(`${receiver.url}/webhooks`)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await fetch(`${receiver.url}/health`, { method: 'POST' })).status).toBe(405)
    expect(await metric('convohouse_webhooks_refused_total{reason="wrong-method"}')).toBe(2)
  })

  it('that announces too large a body is refused before it is read', async () => {
    const { receiver } = await startTestReceiver()
    const { socket, answer, closed } = dial(receiver)
    socket.write(headOf(100_000_000))
    expect(await answer).toMatch(/^HTTP\/1.1 413 (.|\r\n)*Connection: close/)
    await closed
  })

  it.each([
    ['head', 'POST /webhooks HTTP/1.1\r\nHost: x\r\n'],
    ['body', `${headOf(10)}{`],
  ])('whose %s does not arrive is ended with 408', async (_what, text) => {
    const { receiver, metric } = await startTestReceiver({ headMs: 100, requestMs: 300 })
    const { socket, answer } = dial(receiver)
    socket.write(text)
    expect(await answer).toMatch(/^HTTP\/1.1 408/)
    expect(await metric('convohouse_webhooks_acked_total')).toBe(0)
  })

  it('with an endless head is refused', async () => {
    const { receiver } = await startTestReceiver()
    const { socket, answer } = dial(receiver)
    socket.write(`GET /health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(await answer).toMatch(/^HTTP\/1.1 431/)
  })
})

describe('a disk that refuses writes', () => {
  it('is answered with 503, and found to accept writes again without an event: a proxy sends none until the receiver is ready', async () => {
    const { home, receiver, post, sealed } = await startTestReceiver()
    const ready = async () => (await fetch(`${receiver.url}/ready`)).status
    await mkdir(home, { recursive: true })
    // A file in the place of the folder makes every write fail.
    await writeFile(join(home, 'spool'), '')
    const refused = await post(test('a'))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await ready()).toBe(503)
    expect([(await post('{"workspaceSecret":"x"}')).status, (await post('hello')).status]).toEqual([401, 400])
    expect(await ready()).toBe(503)
    expect((await fetch(`${receiver.url}/health`)).status).toBe(200)
    await rm(join(home, 'spool'))
    await expect.poll(ready, { timeout: 300_000 }).toBe(200)
    expect(await readdir(join(home, 'spool'))).toEqual([])
    expect((await post(test('b'))).status).toBe(200)
    expect(await sealed()).toEqual([test('b')])
  })
})

describe('closing', () => {
  it('answers requests in flight, and accepts no more', async () => {
    const { receiver, sealed } = await startTestReceiver()
    const body = JSON.stringify({ ...test('late'), workspaceSecret: SECRET })
    const { socket, answer, closed } = dial(receiver)
    socket.write(headOf(body.length) + body.slice(0, 5))
    await fetch(`${receiver.url}/health`)
    const closing = sealed()
    await expect(fetch(`${receiver.url}/health`)).rejects.toThrow()
    socket.write(body.slice(5))
    expect(await answer).toMatch(/^HTTP\/1.1 200/)
    await closed
    expect(await closing).toEqual([test('late')])
  })
})
