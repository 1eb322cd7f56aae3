// HTTP that a vendor's server, or a proxy before it, may legally speak, and some that it may not.

import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { VendorClientOptions } from '../../src/client/caller.ts'
import { createVendorClient } from '../../src/client/client.ts'
import { listening } from '../ports.ts'
import { isDeep } from '../tier.ts'
import { PAGE } from './scripted-server.ts'
import { failureOf, observer, TOKEN } from './vendor-fixture.ts'
import { startWireServer, type WireAnswer } from './wire-server.ts'

type Part = string | Uint8Array
type Case = [what: string, parts: Part[], end?: 'close']

const BODY = Buffer.from(JSON.stringify(PAGE))
const page = { agentId: 'a1', query: {} }

const head = (lines: string[] = [], status = 'HTTP/1.1 200 OK') =>
  `${[status, 'Content-Type: application/json', ...lines].join('\r\n')}\r\n\r\n`
const length = (bytes: number) => `Content-Length: ${bytes}`
const sized = (body: Uint8Array, ...lines: string[]): Part[] => [head([length(body.length), ...lines]), body]
const encoded = (coding: string, body: Uint8Array) => sized(body, `Content-Encoding: ${coding}`)
const chunk = (body: Uint8Array): Part[] => [`${body.length.toString(16)};extension=1\r\n`, body, '\r\n']
const interim = (status: number, more = '') => `HTTP/1.1 ${status} Interim\r\n${more}\r\n`
const CHUNKED = head(['Transfer-Encoding: chunked', 'Trailer: X-Sum'])

const ENCODED: Case[] = [
  ['gzip', encoded('gzip', gzipSync(BODY))],
  ['x-gzip, in another case', encoded(' X-GZIP ', gzipSync(BODY))],
  ['br', encoded('br', brotliCompressSync(BODY))],
  ['deflate', encoded('deflate', deflateSync(BODY))],
  ['deflate without the header of zlib', encoded('deflate', deflateRawSync(BODY))],
  ['two codings', encoded('gzip, br', brotliCompressSync(gzipSync(BODY)))],
  [
    'two codings in two headers',
    sized(brotliCompressSync(gzipSync(BODY)), 'Content-Encoding: gzip', 'content-encoding: br'),
  ],
  ['a coding more than it has', encoded('br, gzip', brotliCompressSync(BODY))],
  ['gzip that no header declares', sized(gzipSync(BODY))],
  ['gzip as a transfer coding', [head(['Transfer-Encoding: gzip, chunked']), ...chunk(gzipSync(BODY)), '0\r\n\r\n']],
]
const DECLARED = [
  'gzip',
  'br',
  'deflate',
  'zstd',
  'compress',
  'utf-8',
  'none',
  'aws-chunked',
  '',
  'identity',
  'gzip, identity',
]

const ANSWERS: Case[] = [
  ['103 before it', [interim(103, 'Link: </a>; rel=preload\r\n'), ...sized(BODY)]],
  ['100 before it', [interim(100), ...sized(BODY)]],
  ['several interim answers', [interim(102), interim(102), interim(103), interim(100), interim(199), ...sized(BODY)]],
  [
    'interim answers in one packet',
    [
      Buffer.concat(
        [interim(100), interim(103), interim(100, 'A: b\r\n'), ...sized(BODY)].map(part => Buffer.from(part)),
      ),
    ],
  ],
  [
    'every byte in a packet of its own',
    [...Buffer.from(interim(100) + interim(102)), ...Buffer.from(head([length(BODY.length)])), ...BODY].map(byte =>
      Buffer.of(byte),
    ),
  ],
  ['headers of 200 KB', sized(BODY, ...Array.from({ length: 20 }, (_, n) => `X-${n}: ${'x'.repeat(10_000)}`))],
  ...ENCODED,
  ...DECLARED.map((coding): Case => [`"${coding}" declared, but not applied`, encoded(coding, BODY)]),
  ['no length, ended by its close', [head(), BODY], 'close'],
  ['HTTP/1.0', [head([], 'HTTP/1.0 200 OK'), BODY], 'close'],
  [
    'HTTP/1.0 and a connection that stays open',
    [head([length(BODY.length), 'Connection: keep-alive'], 'HTTP/1.0 200 OK'), BODY],
  ],
  [
    'chunks and trailers',
    [CHUNKED, ...chunk(BODY.subarray(0, 9)), ...chunk(BODY.subarray(9)), '0\r\nX-Sum: 1\r\n\r\n'],
  ],
  ['chunks without their end', [CHUNKED, ...chunk(BODY)], 'close'],
  ['a length that is too large', [head([length(BODY.length + 10)]), BODY], 'close'],
  ['bytes behind the body', [...sized(BODY), 'garbage']],
  ['another answer behind the body', [...sized(BODY), ...sized(Buffer.from('{"data":[],"hasMore":false}'))]],
  ['no reason phrase', [head([length(BODY.length)], 'HTTP/1.1 200'), BODY]],
  ['a header beyond ASCII', [Buffer.from(head([length(BODY.length), 'X-A: \xe9']), 'latin1'), BODY]],
  ['a connection that closes after it', sized(BODY, 'connection: CLOSE'), 'close'],
  ['status 206, complete', [head([length(BODY.length)], 'HTTP/1.1 206 Partial Content'), BODY]],
]

function clientOf(port: number, options: Partial<VendorClientOptions> = {}) {
  const apiUrl = `http://127.0.0.1:${port}`
  const client = createVendorClient({ apiUrl, token: TOKEN, timeoutMs: 30_000, sleep: async () => {}, ...options })
  onTestFinished(() => client.close())
  return client
}

const answering =
  (parts: readonly Part[], end?: 'close'): WireAnswer =>
  socket => {
    for (const part of parts) socket.write(part)
    if (end) socket.end()
  }

describe('a page', () => {
  it.each(ANSWERS)('is received once and unchanged, although its answer has %s', async (_what, parts, end) => {
    const server = await startWireServer(answering(parts, end))
    const client = clientOf(server.port)
    for (const requests of [1, 2]) {
      const { attempts, outcomes } = observer()
      const answer = await client.exportConversations({ ...page, attempts })
      expect(answer.exchange.body.equals(BODY)).toBe(true)
      expect(outcomes).toMatchObject([{ error: null }])
      expect(server.requests).toHaveLength(requests)
    }
  })

  it('is masked from the token in any coding', async () => {
    const echo = Buffer.from(JSON.stringify({ ...PAGE, echo: TOKEN }))
    const server = await startWireServer(answering(encoded('br', brotliCompressSync(echo))))
    const { exchange } = await clientOf(server.port).exportConversations(page)
    expect(exchange.body.toString()).not.toContain(TOKEN)
    expect(exchange.tokensMasked).toBe(1)
  })

  it('is received over a new connection, without a failure, if the idle one was closed', async () => {
    for (const close of ['end', 'destroySoon', 'resetAndDestroy'] as const) {
      const server = await startWireServer(answering(sized(BODY)))
      const client = clientOf(server.port)
      for (let n = 0; n < 3; n++) {
        const { attempts, outcomes } = observer()
        await client.exportConversations({ ...page, attempts })
        expect(outcomes).toMatchObject([{ error: null }])
        for (let wait = 0; wait < 10; wait++) await turn()
        for (const socket of server.sockets) socket[close]()
      }
      expect(server.requests).toHaveLength(3)
    }
  })
})

it('a server that closes each connection at once is a network failure, not an endless loop', async () => {
  let accepted = 0
  const port = await listening(
    createServer(socket => {
      accepted++
      socket.resetAndDestroy()
    }),
  )
  const { attempts, outcomes } = observer()
  const client = clientOf(port, { connections: 3, maxAttempts: 2 })
  expect((await failureOf(client.exportConversations({ ...page, attempts }))).code).toBe('API_UNAVAILABLE')
  expect(outcomes).toHaveLength(2)
  expect(accepted).toBeLessThanOrEqual(2 * 4)
})

const bomb = gzipSync(Buffer.alloc(3_000_000))
const binary = deflateSync(BODY).map((byte, n) => (n === 0 ? 0 : byte))

const FAILURES: [what: string, code: string, words: RegExp, parts: Part[]][] = [
  [
    'an unknown coding',
    'API_PROTOCOL',
    /cannot be decoded \(Content-Encoding: compress\)/,
    encoded('compress', binary),
  ],
  [
    'a damaged body',
    'API_PROTOCOL',
    /cannot be decoded \(Content-Encoding: gzip\)/,
    encoded('gzip', gzipSync(BODY).subarray(0, -20)),
  ],
  ['too much when it is decoded', 'API_PROTOCOL', /more than 2000000 bytes/, encoded('gzip', bomb)],
  ['too much in two codings', 'API_PROTOCOL', /more than 2000000 bytes/, encoded('gzip, gzip', gzipSync(bomb))],
  [
    'headers of 2 MB',
    'API_PROTOCOL',
    /headers of more than 1024 KB/,
    sized(BODY, ...Array.from({ length: 200 }, () => `X: ${'x'.repeat(10_000)}`)),
  ],
  ['status 204', 'API_NOT_JSON', /nothing \(0 bytes\)/, [head([], 'HTTP/1.1 204 No Content')]],
  ['status 205', 'API_NOT_JSON', /nothing \(0 bytes\)/, [head([length(0)], 'HTTP/1.1 205 Reset Content')]],
  [
    'a part of a page',
    'API_NOT_JSON',
    /JSON that ends early/,
    [head([length(9)], 'HTTP/1.1 206 Partial'), BODY.subarray(0, 9)],
  ],
  ['status 304', 'API_PROTOCOL', /answered with 304/, [head([], 'HTTP/1.1 304 Not Modified')]],
  [
    'an error in a coding',
    'API_BAD_REQUEST',
    /"No such cursor"/,
    [
      head(
        ['Content-Encoding: gzip', 'Connection: close', length(gzipSync('{"message":"No such cursor"}').length)],
        'HTTP/1.1 400 x',
      ),
      gzipSync('{"message":"No such cursor"}'),
    ],
  ],
]

describe('an answer', () => {
  it.each(FAILURES)('with %s is not asked for again: it may have been billed', async (_what, code, words, parts) => {
    const server = await startWireServer(answering(parts))
    const error = await failureOf(clientOf(server.port, { maxBodyBytes: 2_000_000 }).exportConversations(page))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(words)
    expect(server.requests).toHaveLength(1)
  })

  it('has one timeout, from connecting to its last byte', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const server = await startWireServer(() => {})
    const client = clientOf(server.port, { timeoutMs: 120_000, maxAttempts: 1 })
    let error: Error | undefined
    const failure = failureOf(client.exportConversations(page)).then(found => {
      error = found
      return found
    })
    const turns = async () => {
      for (let n = 0; n < 200; n++) await turn()
    }
    while (server.requests.length === 0) await turn()
    vi.advanceTimersByTime(119_000)
    for (const socket of server.sockets) socket.write(head([length(BODY.length)]))
    await turns()
    expect(error).toBeUndefined()
    vi.advanceTimersByTime(2_000)
    expect(await failure).toMatchObject({ code: 'API_TIMEOUT', facts: { status: 200 } })
  })

  const nodes = (process.env.OTHER_NODES ?? '').split(',').filter(Boolean)
  it.skipIf(!isDeep || nodes.length === 0)(
    'is read in the same way by the other versions of Node in OTHER_NODES',
    () => {
      const files = ['test/client/wire.test.ts', 'test/client/proxy.test.ts']
      for (const node of nodes)
        execFileSync(node, ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'fast', ...files], {
          env: { PATH: process.env.PATH },
          stdio: 'pipe',
        })
    },
  )
})
