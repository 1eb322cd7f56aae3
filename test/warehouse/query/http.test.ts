import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { tableFromIPC } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { ENDLESS, LATE, servedWarehouse } from './served-warehouse.ts'

const served = servedWarehouse()

/** Returns a request as any HTTP client makes it. */
async function post(
  body: object | string,
  { accept, path = '/query', method = 'POST' }: { accept?: string; path?: string; method?: string } = {},
): Promise<{ response: IncomingMessage; body: Buffer }> {
  const headers = accept === undefined ? {} : { Accept: accept }
  const request = httpRequest({ socketPath: served.server.path, path, method, headers, agent: false })
  // The server may close the connection before it has read all of a request that it refuses.
  request.on('error', () => {})
  request.end(method === 'GET' ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { response, body: await buffer(response) }
}

describe('the query endpoint', () => {
  const sql = "SELECT range AS n, 'a' || range AS x FROM range(2)"

  it.each([
    [undefined, 'application/json', '[\n{"n":0,"x":"a0"},\n{"n":1,"x":"a1"}\n]\n'],
    ['application/x-ndjson', 'application/x-ndjson', '{"n":0,"x":"a0"}\n{"n":1,"x":"a1"}\n'],
    ['image/png, text/csv;q=0.9', 'text/csv', 'n,x\r\n0,a0\r\n1,a1\r\n'],
  ])('answers %s with %s, and counts the rows in trailers', async (accept, type, expected) => {
    const { response, body } = await post({ sql }, { ...(accept && { accept }) })
    expect([response.statusCode, response.headers['content-type'], String(body)]).toEqual([200, type, expected])
    expect(response.trailers).toEqual({ 'convohouse-rows': '2', 'convohouse-truncated': 'false' })
    const cut = await post({ sql, maxRows: 1 }, { ...(accept && { accept }) })
    expect(cut.response.trailers).toEqual({ 'convohouse-rows': '1', 'convohouse-truncated': 'true' })
  })

  it('answers in Arrow and in Parquet', async () => {
    const arrow = await post({ sql }, { accept: 'application/vnd.apache.arrow.stream' })
    expect(
      tableFromIPC(arrow.body)
        .toArray()
        .map(row => row.x),
    ).toEqual(['a0', 'a1'])
    const parquet = await post({ sql }, { accept: 'application/vnd.apache.parquet' })
    expect(parquet.response.headers).toMatchObject({
      'convohouse-rows': '2',
      'content-length': String(parquet.body.length),
    })
    expect(String(parquet.body.subarray(0, 4))).toBe('PAR1')
  })

  it.each<[string, number, string, Parameters<typeof post>[0], Parameters<typeof post>[1]?]>([
    ['wrong SQL', 400, 'SQL_INVALID', { sql: 'SELECT zz' }],
    ['SQL that writes', 403, 'SQL_REFUSED', { sql: 'DROP TABLE numbers' }],
    ['SQL that takes too long', 504, 'QUERY_TIMEOUT', { sql: ENDLESS, timeoutMs: 200 }],
    [
      'SQL that takes too long for Parquet',
      504,
      'QUERY_TIMEOUT',
      { sql: ENDLESS, timeoutMs: 200 },
      { accept: 'application/vnd.apache.parquet' },
    ],
    ['a body that is not JSON', 400, 'FLAG_INVALID', 'SELECT 1'],
    ['a body without SQL', 400, 'FLAG_INVALID', {}],
    ['a body that is too large', 413, 'SQL_REFUSED', 'x'.repeat(8_100_000)],
    ['an unknown format', 406, 'FLAG_INVALID', { sql }, { accept: 'image/png' }],
    ['another path', 404, 'FLAG_INVALID', { sql }, { path: '/' }],
    ['another method', 405, 'FLAG_INVALID', {}, { method: 'GET' }],
  ])('refuses %s with a status, a code and a hint', async (_, status, code, body, options) => {
    const answer = await post(body, options)
    expect(answer.response.statusCode).toBe(status)
    expect(answer.response.headers['content-type']).toBe('application/json')
    expect(JSON.parse(String(answer.body))).toEqual({
      error: { code, what: expect.any(String), ...(code !== 'SQL_INVALID' && { hint: expect.any(String) }) },
    })
  })

  it('refuses one query too many with a status that asks for a retry', async () => {
    const leaving = new AbortController()
    const running = [1, 2, 3, 4].map(() => served.ask(ENDLESS, { signal: leaving.signal }).catch(error => error))
    await served.untilRefused()
    const { response, body } = await post({ sql: 'SELECT 1', timeoutMs: 100 })
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1'])
    expect(JSON.parse(String(body)).error.code).toBe('TOO_MANY_QUERIES')
    leaving.abort()
    await Promise.all(running)
  })

  it.each(['text/csv', 'application/x-ndjson', 'application/json', 'application/vnd.apache.arrow.stream'])(
    'aborts an answer in %s whose query fails midway, so that no client mistakes it for a complete one',
    async accept => {
      await expect(post({ sql: LATE }, { accept })).rejects.toMatchObject({ code: 'ECONNRESET' })
    },
  )
})
