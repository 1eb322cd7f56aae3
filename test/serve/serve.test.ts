// Who may ask `serve` what, and what it answers: tokens and scopes by route, other hosts and pages, formats, ETags, answers that break off.

import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import { beforeAll, describe, expect, it } from 'vitest'
import { openAccessTokens } from '../../src/landing/access-tokens.ts'
import { SCOPES, type Scope } from '../../src/serve/access/tokens.ts'
import type { RunningServe } from '../../src/serve/serve.ts'
import { temporaryFolder } from '../cli/cli-process.ts'
import { rowsIn } from '../publish/published.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { bearer, send, served, tokenFor } from './served.ts'

const at = served()
const ONE = '/v1/conversations/none/none/none'
const SQL = { method: 'POST', body: { sql: 'SELECT 1 AS n' } }

const ROUTES: [path: string, request: Parameters<typeof send>[2], scopes: readonly Scope[], success: number][] = [
  ['/v1/query', SQL, ['sql'], 200],
  ['/v1/tables', {}, ['sql', 'metrics'], 200],
  ['/v1/conversations', {}, ['metrics', 'content'], 200],
  ['/v1/conversations?words=hello', {}, ['content'], 200],
  [ONE, {}, ['metrics', 'content'], 404],
  ['/v1/health', {}, ['health'], 200],
  ['/v1/quota', {}, ['metrics'], 200],
]

describe('a token', () => {
  it.each(ROUTES)('for %s needs its scope, and no other is enough', async (path, request, scopes, success) => {
    const { running, tokens } = at
    for (const scope of SCOPES) {
      const headers = bearer(await tokenFor(tokens, scope))
      const { status, json } = await send(running, path, { ...request, headers })
      const isEnough = scopes.includes(scope)
      expect([scope, status]).toEqual([scope, isEnough ? success : 403])
      if (!isEnough) expect(json.error.code).toBe('SCOPE_MISSING')
    }
    expect((await send(running, path, request)).status).toBe(401)
  })

  it('without the scope content sees no names, no texts, and no personal columns', async () => {
    const { running, tokens } = at
    const [bare, full] = [await tokenFor(tokens, 'metrics', 'sql'), await tokenFor(tokens, 'metrics', 'sql', 'content')]
    const ask = (path: string, token: string) => send(running, path, { headers: bearer(token) })
    const columnsOf = async (token: string) => {
      const { json } = await ask('/v1/tables', token)
      const table = json.tables.find(({ name }: { name: string }) => name === 'marts.fct_conversations')
      return table.columns.map(({ name }: { name: string }) => name)
    }
    expect(await columnsOf(full)).toContain('contact_name')
    expect(await columnsOf(bare)).not.toContain('contact_name')
    const listed = await ask('/v1/conversations?hasTranscript=true&limit=1', full)
    const [row] = listed.json.conversations
    expect(Object.keys(row)).toContain('contact_name')
    const path = `/v1/conversations/${[row.workspace_id, row.agent_id, row.conversation_id].map(encodeURIComponent).join('/')}`
    const [shown, hidden] = [await ask(path, full), await ask(path, bare)]
    expect(shown.json.transcript.map(({ text }: { text: string }) => text).join('')).not.toBe('')
    expect(hidden.json).toMatchObject({ transcript: null, whyNoTranscript: 'The token has no scope `content`.' })
    expect(Object.keys(hidden.json.conversation)).not.toContain('contact_name')
    for (const { text } of shown.json.transcript) if (text?.length > 8) expect(String(hidden.body)).not.toContain(text)
    const sql = { method: 'POST', body: { sql: 'SELECT contact_name FROM marts.fct_conversations LIMIT 1' } }
    expect((await send(running, '/v1/query', { ...sql, headers: bearer(full) })).status).toBe(200)
    const { error } = (await send(running, '/v1/query', { ...sql, headers: bearer(bare) })).json
    expect(error).toMatchObject({ code: 'SQL_INVALID', hint: expect.stringMatching(/scope `content`/) })
  })

  it('that is revoked, expired, altered or of an altered file is refused at once with 401', async () => {
    const { tokens, running } = await at.start()
    const token = await tokenFor(tokens, 'sql')
    const ask = (text: string) => send(running, '/v1/query', { ...SQL, headers: bearer(text) })
    expect((await ask(token)).status).toBe(200)
    const [name] = await tokens.names()
    const altered = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    for (const wrong of [altered, 'x', '', '../../etc/passwd', `cvh_nobody_${'a'.repeat(43)}`])
      expect((await ask(wrong)).json.error.code).toBe('NOT_SIGNED_IN')
    expect(await tokens.revoke(name!)).toBe(true)
    const refused = await ask(token)
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer realm="convohouse"'])
    let nowMs = 1_000
    const late = await at.start({ now: () => nowMs })
    await late.tokens.create({ ...(await storedToken(token)), expiresMs: 2_000 })
    const lateAsk = () => send(late.running, '/v1/query', { ...SQL, headers: bearer(token) })
    expect((await lateAsk()).status).toBe(200)
    nowMs = 2_000
    expect((await lateAsk()).status).toBe(401)
  })

  it('is stored as its hash alone, in a private file, beside the landing', async () => {
    const home = await temporaryFolder()
    const tokens = openAccessTokens(home)
    const token = await tokenFor(tokens, 'sql')
    const [folder] = await readdir(home)
    const [file] = await readdir(join(home, folder!))
    const path = join(home, folder!, file!)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readFile(path, 'utf8')).not.toContain(token.slice(-43))
    expect(await tokens.create({ ...(await storedToken(token)) })).toBe(false)
  })
})

/** Returns the stored form of a token that another server issued. */
async function storedToken(token: string) {
  const { createHash } = await import('node:crypto')
  const name = token.split('_')[1]!
  return { name, sha256: createHash('sha256').update(token).digest('hex'), scopes: ['sql'], expiresMs: null }
}

describe('this machine without a token', () => {
  it('may do everything until the first token exists, unless a proxy forwards the request', async () => {
    const { running, tokens } = await at.start()
    const ask = async (headers: Record<string, string> = {}) =>
      (await send(running, '/v1/query', { ...SQL, headers })).status
    expect(await ask()).toBe(200)
    for (const name of [
      'Forwarded',
      'X-Forwarded',
      'X-Client-IP',
      'CF-Connecting-IP',
      'X-Forwarded-For',
      'X-Forwarded-Proto',
      'X-Forwarded-Host',
      'X-Real-IP',
      'Via',
    ])
      expect([name, await ask({ [name]: '127.0.0.1' })]).toEqual([name, 401])
    await tokens.create({ name: 'expired', sha256: '0'.repeat(64), scopes: [], expiresMs: 1 })
    expect(await ask()).toBe(401)
  })

  it('may do nothing at an address that other machines reach', async () => {
    const { running } = await at.start({ settings: { address: { host: '0.0.0.0', port: 0 }, hosts: [], basePath: '' } })
    expect((await send(running, '/v1/query', SQL)).status).toBe(401)
    expect((await send(running, '/health')).status).toBe(200)
  })
})

describe('a request', () => {
  it.each([
    ['Host', 'evil.example.com', 403],
    ['Host', '127.0.0.1.evil.example.com', 403],
    ['Host', 'figures.example.com:443', 200],
    ['Host', 'localhost', 200],
    ['Origin', 'https://evil.example.com', 403],
    ['Origin', 'http://127.0.0.1:1', 403],
    ['Origin', 'null', 403],
    ['Origin', 'https://figures.example.com', 200],
    ['Sec-Fetch-Site', 'cross-site', 403],
    ['Sec-Fetch-Site', 'same-site', 403],
    ['Sec-Fetch-Site', 'same-origin', 200],
  ])('with %s %s is answered with %i', async (name, value, status) => {
    const { running } = await at.start()
    for (const [path, request] of [
      ['/v1/query', SQL],
      ['/v1/tables', {}],
      ['/health', {}],
    ] as const)
      expect((await send(running, path, { ...request, headers: { [name]: value } })).status).toBe(status)
  })

  it('that is too large, too frequent, or not JSON is refused', async () => {
    const { running } = await at.start({ rate: { burst: 3, perSecond: 0.001 } })
    const ask = (body: unknown, headers = {}) => send(running, '/v1/query', { method: 'POST', body, headers })
    expect((await ask({ sql: 'x'.repeat(1_100_000) })).status).toBe(413)
    expect((await ask('{')).json.error.code).toBe('REQUEST_INVALID')
    expect((await ask({ sql: 'SELECT 1' }, { 'Content-Type': 'text/plain' })).status).toBe(400)
    expect((await ask({ sql: 'SELECT 1', surprise: 1 })).status).toBe(400)
    const limited = await ask({ sql: 'SELECT 1' })
    expect([limited.status, limited.json.error.code, Number(limited.headers['retry-after']) > 1]).toEqual([
      429,
      'TOO_MANY_REQUESTS',
      true,
    ])
  })
})

describe('a browser', () => {
  it('exchanges a token once for a cookie that scripts cannot read, and signs out', async () => {
    const { running, tokens } = await at.start()
    const token = await tokenFor(tokens, 'sql')
    const signedIn = await send(running, '/v1/session', { method: 'POST', body: { token } })
    const [cookie] = signedIn.headers['set-cookie'] as [string]
    expect([signedIn.status, cookie]).toEqual([204, expect.stringMatching(/; HttpOnly; SameSite=Strict$/)])
    const headers = { Cookie: cookie.split(';')[0]! }
    const ask = async () => (await send(running, '/v1/query', { ...SQL, headers })).status
    expect(cookie).not.toContain(token.slice(-43))
    expect(await ask()).toBe(200)
    await send(running, '/v1/session', { method: 'DELETE', headers })
    expect(await ask()).toBe(401)
    const again = await send(running, '/v1/session', { method: 'POST', body: { token } })
    headers.Cookie = again.headers['set-cookie']![0]!.split(';')[0]!
    expect(await ask()).toBe(200)
    await tokens.revoke(token.split('_')[1]!)
    expect(await ask()).toBe(401)
    const wrong = await send(running, '/v1/session', {
      method: 'POST',
      body: { token: 'x' },
      headers: { 'X-Forwarded-Proto': 'https' },
    })
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined])
  })
})

/** A server without a token. */
let open: RunningServe
beforeAll(async () => {
  open = (await at.start()).running
})
const query = (body: object, accept?: string) =>
  send(open, '/v1/query', { method: 'POST', body, headers: accept === undefined ? {} : { Accept: accept } })
const get = (path: string, headers: Record<string, string> = {}) => send(open, path, { headers })

/** Runs until it is interrupted. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000) a, range(1000000000) b'

describe('a query', () => {
  it('answers JSON with as-of, and says whether it was cut', async () => {
    const { json, headers } = await query({
      sql: 'SELECT range AS n FROM range(3) WHERE range >= $1',
      params: [1],
      maxRows: 1,
    })
    const { asOf } = json
    expect(json).toEqual({ rows: [{ n: 1 }], truncated: true, asOf })
    expect(headers['convohouse-as-of']).toBe(asOf)
    const [[stored]] = (await rowsIn(
      at.path,
      "SELECT strftime(as_of AT TIME ZONE 'UTC', '%xT%H:%M:%S.%gZ') FROM _publication",
    )) as [[string]]
    expect(asOf).toBe(stored)
    const none = await query({ sql: 'SELECT 1 AS n WHERE false' })
    expect(none.json).toEqual({ rows: [], truncated: false, asOf })
  })

  it('answers NDJSON, CSV, Arrow and Parquet', async () => {
    const sql = "SELECT range AS n, 'a' || range AS x FROM range(2)"
    expect(String((await query({ sql }, 'application/x-ndjson')).body)).toBe('{"n":0,"x":"a0"}\n{"n":1,"x":"a1"}\n')
    expect(String((await query({ sql }, 'text/csv')).body)).toBe('n,x\r\n0,a0\r\n1,a1\r\n')
    const cut = await query({ sql, maxRows: 1 }, 'text/csv')
    expect(cut.trailers).toEqual({ 'convohouse-truncated': 'true' })
    // These formats cannot say in their bodies that they were cut.
    for (const format of ['text/csv', 'application/vnd.apache.arrow.stream'])
      expect((await query({ sql: 'FROM range(10001)' }, format)).trailers).toEqual({ 'convohouse-truncated': 'false' })
    expect((await query({ sql: 'FROM range(10001)' })).json).toMatchObject({ truncated: true })
    const arrow = await query({ sql }, 'application/vnd.apache.arrow.stream')
    expect(arrow.trailers).toEqual({ 'convohouse-truncated': 'false' })
    expect(tableFromIPC(arrow.body).numRows).toBe(2)
    const parquet = await query({ sql }, 'application/vnd.apache.parquet')
    expect([String(parquet.body.subarray(0, 4)), parquet.headers['convohouse-as-of']]).toEqual([
      'PAR1',
      arrow.headers['convohouse-as-of'],
    ])
  })

  it.each([
    [400, 'SQL_INVALID', { sql: 'SELECT nothing' }],
    [403, 'SQL_REFUSED', { sql: 'DROP TABLE conversations' }],
    [504, 'QUERY_TIMEOUT', { sql: ENDLESS, timeoutMs: 200 }],
    [400, 'REQUEST_INVALID', { sql: 1 }],
    [400, 'REQUEST_INVALID', { sql: 'SELECT 1', maxRows: 0 }],
  ])('that fails is answered with %i and %s', async (status, code, body) => {
    const answer = await query(body)
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
  })

  it('that fails after its first rows breaks the connection', async () => {
    const sql = "SELECT CASE WHEN range = 400000 THEN error('late') ELSE range END AS n FROM range(500000)"
    for (const Accept of [
      'application/json',
      'application/x-ndjson',
      'text/csv',
      'application/vnd.apache.arrow.stream',
    ])
      await expect(
        fetch(`${open.url}/v1/query`, {
          method: 'POST',
          headers: { Accept, 'Content-Type': 'application/json' },
          body: JSON.stringify({ sql, maxRows: 1_000_000 }),
        }).then(response => response.arrayBuffer()),
      ).rejects.toThrow()
  })

  it('ends when its client leaves', async () => {
    const request = httpRequest({
      port: open.port,
      path: '/v1/query',
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    })
    request.on('error', () => {})
    request.end(
      JSON.stringify({ sql: 'SELECT range, repeat(range::VARCHAR, 100) FROM range(100000000)', maxRows: 100_000_000 }),
    )
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response, 'readable')
    request.destroy()
    // Four such queries would occupy all slots.
    for (let round = 0; round < 4; round++)
      expect((await query({ sql: 'SELECT 1', timeoutMs: 60_000 })).status).toBe(200)
  })
})

describe('clients that do not read', () => {
  it('are cut off, and occupy no slots', async () => {
    const { running } = await at.start({ stalledMs: 200 })
    const body = JSON.stringify({ sql: "SELECT repeat('x', 100000) FROM range(100000)", maxRows: 100_000 })
    const head = `POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    // As many as there are slots. Without a listener, a socket is read once.
    const clients = Array.from({ length: 4 }, () => connect(running.port, '127.0.0.1', () => {}))
    for (const client of clients) client.on('error', () => {}).write(head + body)
    await Promise.all(clients.map(client => until(() => client.readableLength > 0)))
    const answer = await send(running, '/v1/query', {
      method: 'POST',
      body: { sql: 'SELECT 1 AS n', timeoutMs: 60_000 },
    })
    expect(answer.status).toBe(200)
    for (const client of clients) client.destroy()
  })

  it('of one token leave slots to others, for SQL and for Parquet', async () => {
    const { running, tokens } = await at.start()
    const [greedy, other] = [await tokenFor(tokens, 'sql'), await tokenFor(tokens, 'sql')]
    const body = JSON.stringify({ sql: 'SELECT md5(range::VARCHAR) AS x FROM range(1000000)' })
    const answers = [['text/csv', 2] as const, ['application/vnd.apache.parquet', 1] as const]
    for (const [Accept, slots] of isDeep ? answers : answers.slice(0, 1)) {
      const headers = { ...bearer(greedy), Accept, 'Content-Type': 'application/json', 'Content-Length': body.length }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      const clients = Array.from({ length: 6 }, () => connect(running.port, '127.0.0.1', () => {}))
      for (const client of clients)
        client.on('error', () => {}).write(`POST /v1/query HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n${body}`)
      await until(() => clients.filter(client => client.readableLength > 0).length >= slots)
      const ask = async (token: string, timeoutMs: number) => {
        const request = { method: 'POST', body: { sql: 'SELECT 1 AS n', timeoutMs } }
        return (await send(running, '/v1/query', { ...request, headers: { ...bearer(token), Accept } })).status
      }
      const [ofGreedy, ofOther] = await Promise.all([ask(greedy, 1_000), ask(other, 60_000)])
      // It waits for a slot of its token, or on a busy machine for its turn in the reader, until its time is over.
      expect([503, 504]).toContain(ofGreedy)
      expect(ofOther).toBe(200)
      for (const client of clients) client.destroy()
    }
  })
})

describe('an answer', () => {
  it('has an ETag of the state and the scopes, and 304 spares it', async () => {
    const first = await get('/v1/tables')
    const { etag } = first.headers as { etag: string }
    const again = await get('/v1/tables', { 'If-None-Match': etag })
    expect([again.status, again.body.length, again.headers['convohouse-as-of']]).toEqual([304, 0, first.json.asOf])
    const { running, tokens } = await at.start()
    const token = await tokenFor(tokens, 'sql')
    const narrower = await send(running, '/v1/tables', { headers: { ...bearer(token), 'If-None-Match': etag } })
    expect(narrower.status).toBe(200)
  })

  it('below a base path is found there only', async () => {
    const settings = { address: { host: '127.0.0.1', port: 0 }, hosts: [], basePath: '/figures' }
    const { running, tokens } = await at.start({ settings })
    expect(running.url).toMatch(/\/figures$/)
    expect((await send(running, '/figures/v1/tables')).status).toBe(200)
    expect((await send(running, '/v1/tables')).status).toBe(404)
    const { paths } = (await send(running, '/figures/openapi.json')).json
    expect(Object.keys(paths)).toContain('/figures/v1/query')
    const token = await tokenFor(tokens, 'sql')
    const { headers } = await send(running, '/figures/v1/session', { method: 'POST', body: { token } })
    expect(headers['set-cookie']![0]).toContain('; Path=/figures;')
  })

  it('is described in OpenAPI, and an unexpected error shows nothing', async () => {
    const { json } = await get('/openapi.json')
    expect(json.openapi).toBe('3.1.0')
    expect(Object.keys(json.paths).sort()).toEqual([
      ...[
        '/v1/agent-changes',
        '/v1/conversations',
        '/v1/conversations/{workspace}/{agent}/{id}',
        '/v1/health',
        '/v1/metrics',
        '/v1/metrics/query',
        '/v1/organizations',
        '/v1/pages',
        '/v1/query',
        '/v1/quota',
        '/v1/session',
        '/v1/tables',
      ],
    ])
    expect(json.paths['/v1/query'].post.responses['401'].content['application/json'].schema.$ref).toBe(
      '#/components/schemas/Problem',
    )
    const rows = async () => {
      throw new Error('secret of Ann')
    }
    const { running } = await at.start({ readers: { ...at.readers, rows, reading: rows } })
    const { status, body } = await send(running, '/v1/tables')
    expect([status, String(body)]).toEqual([500, expect.not.stringContaining('Ann')])
  })
})
