// Requests through a proxy that environment variables name.

import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createVendorClient } from '../../src/client/client.ts'
import { proxyFor } from '../../src/core/proxy.ts'
import { freePort, listening } from '../ports.ts'
import { PAGE } from './scripted-server.ts'
import { failureOf, observer, TOKEN } from './vendor-fixture.ts'
import { startWireServer, type WireAnswer } from './wire-server.ts'

const page = { agentId: 'a1', query: {} }
const body = JSON.stringify(PAGE)
const answer = (text: string, status = '200 OK') =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

function clientOf(apiUrl: string, env: Record<string, string>, timeoutMs = 30_000) {
  const proxy = proxyFor(new URL(apiUrl).origin, env)
  const client = createVendorClient({ apiUrl, token: TOKEN, proxy, timeoutMs, maxAttempts: 2, sleep: async () => {} })
  onTestFinished(() => client.close())
  return client
}

/** A proxy that tunnels every host to a port of this machine. */
const tunnelTo =
  (port: number): WireAnswer =>
  socket => {
    socket.removeAllListeners('data')
    const vendor = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nX-Via: proxy\r\n\r\n')
      socket.pipe(vendor).pipe(socket)
    }).on('error', () => socket.destroy())
    socket.on('close', () => vendor.destroy())
  }

describe('a proxy', () => {
  it.each([
    ['HTTPS_PROXY', { HTTPS_PROXY: 'http://p:3128' }, 'https://v.test', 'http://p:3128'],
    [
      'its lower-case form first',
      { HTTPS_PROXY: 'http://p:1', https_proxy: 'http://q:2' },
      'https://v.test',
      'http://q:2',
    ],
    ['HTTP_PROXY for https, too', { http_proxy: ' http://p ' }, 'https://v.test', 'http://p'],
    ['an address without a scheme', { HTTP_PROXY: 'u:pw@p.corp:3128' }, 'http://v.test', 'http://p.corp:3128'],
    ['a proxy that speaks TLS', { HTTPS_PROXY: 'https://p' }, 'https://v.test', 'https://p'],
    ['no HTTPS_PROXY for http', { HTTPS_PROXY: 'http://p' }, 'http://v.test', null],
    [
      'nothing where the lower-case form is empty',
      { HTTPS_PROXY: 'http://p', https_proxy: '' },
      'https://v.test',
      null,
    ],
    ['another port in NO_PROXY', { HTTPS_PROXY: 'http://p', NO_PROXY: 'v.test:8443' }, 'https://v.test', 'http://p'],
    [
      'the end of a name in NO_PROXY',
      { HTTPS_PROXY: 'http://p', NO_PROXY: 'endor.test' },
      'https://vendor.test',
      'http://p',
    ],
  ])('is found: %s', (_what, env, origin, proxy) => {
    expect(proxyFor(origin, env as unknown as Record<string, string>)?.origin ?? null).toBe(proxy)
  })

  it.each([
    ...['v.test', 'V.TEST', '.v.test', '*.v.test', 'test', 'a, v.test:443', 'x v.test', '*'].map(list => [
      list,
      'https://v.test',
    ]),
    ['v.test', 'https://api.v.test'],
    ['10.1.2.3', 'https://10.1.2.3'],
    ['[fd00::1]:443', 'https://[fd00::1]'],
    ['fd00::1', 'https://[fd00::1]'],
    ['', 'https://localhost:8443'],
    ['', 'https://api.localhost'],
    ['', 'http://127.3.2.1:80'],
    ['', 'http://0.0.0.0:80'],
    ['', 'http://[::1]:80'],
    ['', 'http://[::ffff:127.0.0.1]:80'],
  ])('is not used where NO_PROXY is %j for %s', (list, origin) => {
    expect(proxyFor(origin!, { HTTP_PROXY: 'http://p', no_proxy: list! })).toBeNull()
  })

  it.each([
    'http://',
    'socks5://u:canary@p:1080',
    'ftp://p',
    'http://u:canary%zz@p',
    'canary canary',
    'http://p:99999',
  ])('that is none is refused without its password: %s', value => {
    const open = () => proxyFor('https://v.test', { HTTPS_PROXY: value })
    expect(open).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('HTTPS_PROXY') }),
    )
    expect(open).not.toThrow(/canary/)
  })

  it('gets requests for plain HTTP itself, with its user and password', async () => {
    const proxy = await startWireServer(socket => socket.write(answer(body)))
    const client = clientOf('http://vendor.test:81/base', { http_proxy: `http://me:p%40ss@127.0.0.1:${proxy.port}` })
    for (const _ of [1, 2]) expect((await client.exportConversations(page)).envelope.data).toEqual(PAGE.data)
    expect(proxy.requests[1]).toMatch(/^GET http:\/\/vendor\.test:81\/base\/v3\/agents\/a1\/convos\/export HTTP\/1\.1/)
    expect(proxy.requests[1]).toMatch(/\r\nhost: vendor\.test:81\r\n/i)
    expect(proxy.requests[1]).toContain(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  })

  it('tunnels requests for TLS, and sees neither token nor path', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    const pem = readFileSync(join(import.meta.dirname, '../cli/self-signed.pem'))
    const vendor = await listening(createTlsServer({ key: pem, cert: pem }, (_, response) => void response.end(body)))
    const proxy = await startWireServer(tunnelTo(vendor))
    const client = clientOf('https://vendor.test', { HTTPS_PROXY: `me@127.0.0.1:${proxy.port}` })
    const pages = [page, page, page].map(asked => client.exportConversations(asked))
    for (const { envelope } of await Promise.all(pages)) expect(envelope.data).toEqual(PAGE.data)
    expect(proxy.requests).toHaveLength(3)
    for (const head of proxy.requests) {
      expect(head).toMatch(/^CONNECT vendor\.test:443 HTTP\/1\.1/)
      expect(head).toContain(`Basic ${Buffer.from('me:').toString('base64')}`)
      expect(head).not.toMatch(/bearer|agents/i)
    }
    await client.exportConversations(page)
    expect(proxy.requests).toHaveLength(3)
  })

  const failures: [string, WireAnswer | null, string, RegExp][] = [
    [
      'that nothing listens at',
      null,
      'https',
      /^The proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS_PROXY\) refused the connection/,
    ],
    ['that wants a password', s => s.end(answer('', '407 x')), 'https', /answered 407 instead of connecting/],
    ['that wants a password for HTTP', s => s.write(answer('', '407 x')), 'http', /answered 407 instead of connecting/],
    ['that forbids the host', s => s.end(answer('no', '403 Forbidden')), 'https', /answered 403 instead of connecting/],
    ['that cannot reach the host', s => s.end(answer('', '502 x')), 'https', /answered 502 instead of connecting/],
    ['that hangs up', s => s.end(), 'https', /closed the connection before it answered/],
    ['that resets', s => s.resetAndDestroy(), 'https', /closed the connection before it answered/],
    ['that speaks no HTTP', s => s.end('220 mail.example.com ESMTP ready\r\n'), 'https', /does not speak HTTP/],
    [
      'that leads to no TLS',
      tunnelToText,
      'https',
      /^vendor\.test does not speak TLS.*through the proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS_PROXY\)/,
    ],
    ['that is silent', () => {}, 'https', /did not accept a connection within 200ms, through the proxy/],
  ]

  function tunnelToText(socket: Socket): void {
    socket.removeAllListeners('data')
    socket.write('HTTP/1.1 200 OK\r\n\r\nhello, this is text and no TLS\r\n')
  }

  it.each(failures)(
    '%s is named with its variable and without its password, and nothing counts as sent',
    async (_what, act, scheme, words) => {
      const proxy = act ? await startWireServer(act) : { port: await freePort(), requests: [] }
      const env = { [`${scheme.toUpperCase()}_PROXY`]: `http://me:canary@127.0.0.1:${proxy.port}` }
      const client = clientOf(`${scheme}://vendor.test`, env, words.source.includes('within') ? 200 : 30_000)
      const { attempts, outcomes } = observer()
      const error = await failureOf(client.exportConversations({ ...page, attempts }))
      expect(error.message).toMatch(words)
      expect(`${error.message} ${error.hint}`).toContain(`${scheme.toUpperCase()}_PROXY`)
      expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/canary|Y2FuYXJ5/)
      expect(outcomes).toMatchObject([{ unsent: true }, { unsent: true }])
      expect(proxy.requests.length).toBeLessThanOrEqual(2)
    },
  )

  it('that is silent does not hold up the end of a client', async () => {
    const proxy = await startWireServer(() => {})
    const client = clientOf('https://vendor.test', { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }, 600_000)
    const stopped = new AbortController()
    const failure = failureOf(client.exportConversations({ ...page, signal: stopped.signal }))
    await expect.poll(() => proxy.requests.length).toBe(1)
    stopped.abort()
    expect((await failure).code).toBe('INTERRUPTED')
    await client.close()
  })
})
