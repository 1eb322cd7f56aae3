// `POST /v1/query`: a user's SQL, answered by the ad-hoc reader and passed on piece by piece.
import type { ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { createRoute, z } from '@hono/zod-openapi'
import { MINUTE } from '../../core/time.ts'
import { formatOf, TRUNCATED_HEADER } from '../../warehouse/query/http/protocol.ts'
import type { QueryAnswer, SnapshotReaders } from '../readers/snapshot-readers.ts'
import { needs, type Routes } from './app.ts'
import { PROBLEMS } from './problem.ts'
import { AS_OF_HEADER, record } from './snapshot-route.ts'

const value = z.union([z.string(), z.number(), z.boolean(), z.null()])

/** Only JSON says in its body that it was cut. */
const JSON_ROWS = 10_000
const MAX_ROWS_ABOUT = `Of JSON by default ${JSON_ROWS}; of other formats all. Parquet always has all rows`

const query = z
  .strictObject({
    sql: z.string().min(1).openapi({ example: 'FROM marts.conversations_daily WHERE day >= $1' }),
    params: z
      .union([z.array(value).max(1_000), z.record(z.string(), value)])
      .optional()
      .openapi({ description: 'A list of the values of $1, $2, …, or an object with those of $name' }),
    maxRows: z.int().min(1).optional().openapi({ description: MAX_ROWS_ABOUT }),
    timeoutMs: z.int().min(1).default(MINUTE),
  })
  .openapi('Query')

const answer = z
  .object({ rows: z.array(record), truncated: z.boolean(), asOf: z.iso.datetime() })
  .openapi('QueryAnswer')

const bytes = { schema: z.string().openapi({ format: 'binary' }) }

const route = createRoute({
  method: 'post',
  path: '/v1/query',
  summary: 'Run one SELECT over the snapshot',
  description:
    'Accept chooses the format; JSON is the default. An answer that fails after its first rows ends without its last chunk. The trailer Convohouse-Truncated says whether there are more rows than maxRows. Without the scope `content`, SQL sees only columns without personal data.',
  middleware: [needs('sql')] as const,
  request: { body: { content: { 'application/json': { schema: query } }, required: true } },
  responses: {
    200: {
      description: 'The rows',
      content: {
        'application/json': { schema: answer },
        'application/x-ndjson': bytes,
        'text/csv': bytes,
        'application/vnd.apache.arrow.stream': bytes,
        'application/vnd.apache.parquet': bytes,
      },
    },
    ...PROBLEMS,
  },
})

/** True if there are more rows; known once the body has ended. */
export const isTruncated = ({ body }: QueryAnswer): boolean =>
  body.trailers?.[TRUNCATED_HEADER.toLowerCase()] === 'true'

/** Puts the reader's array of rows into an object. */
function asObject(answer: QueryAnswer): Transform {
  let isBegun = false
  return new Transform({
    transform(piece, _encoding, done) {
      if (!isBegun) this.push('{"rows":')
      isBegun = true
      done(null, piece)
    },
    flush(done) {
      const asOf = answer.headers[AS_OF_HEADER.toLowerCase()]
      done(null, `,"truncated":${isTruncated(answer)},"asOf":${JSON.stringify(asOf)}}\n`)
    },
  })
}

export const queryRoute =
  (readers: SnapshotReaders): Routes =>
  app =>
    void app.openapi(route, async c => {
      const { outgoing } = c.env as { outgoing: ServerResponse }
      const gone = new AbortController()
      outgoing.once('close', () => gone.abort())
      const { token, scopes } = c.get('principal')
      const withContent = scopes.has('content')
      const accept = c.req.header('accept') ?? '*/*'
      const given = c.req.valid('json')
      const maxRows = given.maxRows ?? (formatOf(accept) === 'json' ? JSON_ROWS : Number.MAX_SAFE_INTEGER)
      const answer = await readers.query({
        ...{ ...given, maxRows, accept, withContent, signal: gone.signal },
        caller: token ?? '',
      })
      const { status, headers, body } = answer
      const isChunked = status === 200 && headers['content-length'] === undefined
      outgoing.writeHead(status, { ...headers, ...(isChunked && { Trailer: TRUNCATED_HEADER }) })
      const shaped = isChunked && headers['content-type'] === 'application/json' ? [asObject(answer)] : []
      try {
        await pipeline([body, ...shaped, outgoing], { end: false })
        if (isChunked) outgoing.addTrailers({ [TRUNCATED_HEADER]: String(isTruncated(answer)) })
        outgoing.end()
      } catch {
        // An answer that breaks off breaks the connection.
        outgoing.destroy()
      }
      return RESPONSE_ALREADY_SENT as never
    })
