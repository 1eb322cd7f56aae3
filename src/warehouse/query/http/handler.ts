// Queries over HTTP.
//
//   POST /query   {"sql": "SELECT $1", "params": [1], "timeoutMs": 60000, "maxRows": 1000}; `Accept` names the format
//   200           the rows, streamed; the trailers Convohouse-Rows and Convohouse-Truncated count them (Parquet: headers)
//   POST /plan    and other questions that the holder answers (`Questions`); 200: one JSON value
//   4xx, 5xx      {"error": {"code": "SQL_INVALID", "what": "…", "hint": "…"}}
//
// If a query fails after its first rows, the response ends without its last chunk, so that no client considers it complete; the format
// `cells` sends the error first. A client that closes the connection stops its query.
//
// There are bounds on the SQL (`guard`, a read-only transaction), its duration, the number of concurrent queries, the rows, and the bytes in
// flight (one piece and the socket's buffer per query, by backpressure). Sorts and joins share the instance's `memory_limit` with loading,
// and spill as loading does. DuckDB does not interrupt a query inside a huge value (`repeat('x', 2000000000)`): its client gets the error,
// and the watchdog ends the process.
//
// Access is controlled by the server that calls the handler, here by the file mode of the Unix socket.

import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { ConvohouseError } from '../../../core/errors.ts'
import { MINUTE, SECOND } from '../../../core/time.ts'
import { queryStatement } from '../../statements/held.ts'
import type { QueryQueue } from '../concurrency.ts'
import { encodeFrame } from '../formats/cells.ts'
import { encode, type StreamedFormat } from '../formats/encode.ts'
import type { GuardRules } from '../guard/guard.ts'
import { outlineOf } from '../guard/sql-text.ts'
import { copyIn } from '../parquet.ts'
import { queryIn } from '../query.ts'
import { queryError } from '../query-error.ts'
import { openSession, type QuerySession } from '../session.ts'
import {
  errorAnswer,
  formatOf,
  invalidRequest,
  MEDIA_TYPES,
  PARQUET_MEDIA_TYPE,
  QUERY_PATH,
  type QueryFormat,
  ROWS_HEADER,
  TRUNCATED_HEADER,
} from './protocol.ts'

/** Upper bound of a query's timeout. */
const MAX_TIMEOUT_MS = 10 * MINUTE

/** Upper bound of an answer's rows. Parquet is not limited, since it does not pass through JavaScript. */
const MAX_ROWS = 100_000_000

/** Upper bound of the wait for a slot; a query's own timeout limits it too. */
const MAX_WAIT_MS = 30 * SECOND

/** Other questions with JSON answers for the holder, by path. `signal` aborts when the client is gone or the server closes. */
export type Questions = Map<string, (question: unknown, signal: AbortSignal) => Promise<unknown>>

/** Called when a query starts (SQL without literals) and ends (null), so that a supervisor can log queries during a crash. */
export type QueryObserver = (id: number, sql: string | null, timeoutMs: number) => void

/** A connection for one query, in UTC, and what its SQL may name. */
export interface QueryAccess {
  connection: DuckDBConnection
  rules?: GuardRules
}

interface QueryContext {
  /** Opens the connection for a request, which has this body. */
  connect(body: Readonly<Record<string, unknown>>): Promise<QueryAccess>
  /** Folder for Parquet files that are being sent. */
  scratch: string
  queue: QueryQueue
  onQuery?: QueryObserver
  questions: Questions
  /** Aborted when the server closes. */
  closing: AbortSignal
}

/** Answers one request and resolves when the answer has been sent or its client is gone; never rejects. */
type QueryHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export const queryHandler =
  (context: QueryContext): QueryHandler =>
  async (request, response) => {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, context.closing])
    const answer = context.questions.get(request.url ?? '')
    try {
      if (answer) response.end(JSON.stringify(await answer(parse(await readBody(request)), signal)))
      else await runInSlot({ response, query: await readQuery(request), context, signal })
    } catch (error) {
      sendError(response, queryError(error))
    }
    await finished(response).catch(() => {})
  }

interface RequestedQuery {
  body: Readonly<Record<string, unknown>>
  sql: string
  format: QueryFormat
  timeoutMs: number
  maxRows: number
}

async function readQuery(request: IncomingMessage): Promise<RequestedQuery> {
  const { method, url = '' } = request
  const usage = `POST {"sql": "SELECT …"} to ${QUERY_PATH}.`
  if (url.split('?')[0] !== QUERY_PATH) throw invalidRequest(404, `There is nothing at ${url}.`, usage)
  if (method !== 'POST') throw invalidRequest(405, `${method} is not supported.`, usage)
  const format = formatOf(request.headers.accept)
  const body = parse(await readBody(request))
  if (typeof body.sql !== 'string') throw invalidRequest(400, 'The request has no SQL.', usage)
  return {
    body,
    sql: body.sql,
    format,
    timeoutMs: bound(body.timeoutMs),
    maxRows: bound(body.maxRows),
  }
}

/** Size of the largest request, in bytes: the guard's longest SQL, escaped. */
const MAX_REQUEST_BYTES = 8_000_000

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  // Keeps the connection open when reading stops early, because the response has not been sent yet.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > MAX_REQUEST_BYTES) {
      // Discards the rest: a client sends all of its request before it reads the answer.
      request.resume()
      throw invalidRequest(
        413,
        `The request is larger than ${MAX_REQUEST_BYTES} bytes.`,
        'Shorten the SQL.',
        'SQL_REFUSED',
      )
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function parse(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Reported below.
  }
  throw invalidRequest(400, 'The request is not a JSON object.', 'Send {"sql": "SELECT …"}.')
}

/** Returns a bound that the client may give; unbounded unless it is a number above zero. */
const bound = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : Number.POSITIVE_INFINITY)

interface Running {
  response: ServerResponse
  query: RequestedQuery
  context: QueryContext
  signal: AbortSignal
}

let queries = 0

/** Holds a slot until DuckDB has released the connection. The wait for the slot counts towards the query's timeout. */
async function runInSlot(running: Running): Promise<void> {
  const { query, context, signal } = running
  const timeoutMs = Math.min(query.timeoutMs, MAX_TIMEOUT_MS)
  const beganMs = performance.now()
  const release = await context.queue.acquire(Math.min(timeoutMs, MAX_WAIT_MS), signal)
  const id = ++queries
  context.onQuery?.(id, outlineOf(query.sql), timeoutMs)
  try {
    await run(running, Math.max(1, timeoutMs - (performance.now() - beganMs)))
  } finally {
    context.onQuery?.(id, null, timeoutMs)
    release()
  }
}

/** Time after the query's timeout for which its response stays open for a slow client to read the rest. */
const READ_WITHIN_MS = 5 * SECOND

async function run(running: Running, timeoutMs: number): Promise<void> {
  const { response, query, context, signal } = running
  const cutOff = setTimeout(() => response.destroy(), timeoutMs + READ_WITHIN_MS)
  response.once('close', () => clearTimeout(cutOff))
  const access = await context.connect(query.body)
  const { connection } = access
  try {
    const statement = queryStatement(query.sql, Math.min(query.timeoutMs, MAX_TIMEOUT_MS))
    const session = await openSession(connection, { timeoutMs, signal, statement })
    try {
      await (query.format === 'parquet' ? sendParquet : sendRows)({ ...running, ...access, session })
    } catch (error) {
      sendError(response, queryError(error), query.format)
    } finally {
      await session.close()
    }
  } finally {
    connection.closeSync()
  }
}

interface InSession extends Running, QueryAccess {
  session: QuerySession
}

async function sendRows({ response, query, connection, rules = {}, session }: InSession): Promise<void> {
  const { sql, format, body } = query
  const maxRows = Math.min(query.maxRows, MAX_ROWS)
  const result = await queryIn(session, { connection, sql, maxRows, params: body.params, rules })
  response.writeHead(200, {
    'Content-Type': MEDIA_TYPES.get(format),
    Trailer: `${ROWS_HEADER}, ${TRUNCATED_HEADER}`,
  })
  for await (const piece of encode(result, format as StreamedFormat)) await write(response, piece)
  const { rows, truncated } = result.tally()
  response.addTrailers({ [ROWS_HEADER]: String(rows), [TRUNCATED_HEADER]: String(truncated) })
  response.end()
}

const PARQUET_PIECE_BYTES = 256 * 1024

let parts = 0

async function sendParquet({ response, query, context, session, ...access }: InSession): Promise<void> {
  parts += 1
  const part = join(context.scratch, `${parts}.parquet`)
  try {
    const { rows, bytes } = await copyIn(session, { ...access, sql: query.sql, params: query.body.params, part })
    // Sending the file needs no transaction, and an open one keeps the process from checkpointing.
    await session.close()
    response.writeHead(200, {
      'Content-Type': PARQUET_MEDIA_TYPE,
      'Content-Length': bytes,
      [ROWS_HEADER]: rows,
    })
    for await (const piece of createReadStream(part, { highWaterMark: PARQUET_PIECE_BYTES }))
      await write(response, piece)
    response.end()
  } finally {
    await rm(part, { force: true })
  }
}

/**
 * Writes a piece and waits until the client has read enough for the next one. Only one piece and the socket's buffer
 * are in memory, however slowly it reads.
 *
 * @throws INTERRUPTED if the client is gone
 */
async function write(response: ServerResponse, piece: string | Uint8Array): Promise<void> {
  const gone = () => new ConvohouseError('INTERRUPTED', { what: 'The client has closed the connection.' })
  if (response.destroyed) throw gone()
  if (response.write(piece)) return
  await new Promise<void>((resolve, reject) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle)
      if (response.destroyed) reject(gone())
      else resolve()
    }
    response.on('drain', settle).on('close', settle)
  })
}

/** Once the head has been sent, only `cells` can carry an error; any other answer is cut off. */
function sendError(response: ServerResponse, error: ConvohouseError, format?: QueryFormat): void {
  if (response.destroyed) return
  const { status, headers, body } = errorAnswer(error)
  if (response.headersSent) {
    if (format === 'cells') response.end(encodeFrame(body))
    else response.destroy()
    return
  }
  response.writeHead(status, headers)
  response.end(`${JSON.stringify(body)}\n`)
}
