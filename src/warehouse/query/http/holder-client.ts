// The client of the process that holds the warehouse: sends it queries over its Unix socket.

import { open, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { notWritable } from '../../../core/disk.ts'
import { ConvohouseError, isCode } from '../../../core/errors.ts'
import { durationText, SECOND } from '../../../core/time.ts'
import { queryStatement, whyEnded } from '../../statements/held.ts'
import { CELLS_MEDIA_TYPE, type CellsMessage, type ErrorBody, readFrames } from '../formats/cells.ts'
import { type ParquetFile, partOf, putInPlace } from '../parquet.ts'
import type { Batch, Column, QueryResult, Tally } from '../results.ts'
import type { QueryLimits } from '../session.ts'
import { errorFrom, PARQUET_MEDIA_TYPE, QUERY_PATH, ROWS_HEADER } from './protocol.ts'
import { socketPath } from './socket-path.ts'

/** The holder enforces the timeout; this only ends the wait for a holder that no longer responds. */
const GRACE_MS = 10 * SECOND

interface Asked extends QueryLimits {
  /** The data folder. */
  home: string
  sql?: string
}

export interface HolderQuery extends Asked {
  sql: string
}

/**
 * Runs `runQuery` in the process that holds the warehouse.
 *
 * @throws WAREHOUSE_LOCKED if it does not answer or has another version; WAREHOUSE_ENDED if it ends before the answer does;
 *   TOO_MANY_QUERIES, SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export const queryHolder = (query: HolderQuery & { maxRows?: number }): Promise<QueryResult> =>
  told(query, async () => {
    const { maxRows } = query
    const answer = await post(query, CELLS_MEDIA_TYPE, { maxRows })
    try {
      const messages = readFrames(answer.pieces())
      const first = await nextMessage(messages)
      if (!('columns' in first)) throw ended()
      return resultOf(answer, messages, first.columns)
    } catch (error) {
      answer.hangUp()
      throw error
    }
  })

/**
 * Runs `copyToParquet` in the process that holds the warehouse, and writes the file here.
 *
 * @throws as `queryHolder`, and HOME_UNUSABLE if the file cannot be written
 */
export const queryHolderToParquet = (query: HolderQuery & { file: string }): Promise<ParquetFile> =>
  told(query, async () => {
    const part = partOf(query.file)
    const answer = await post(query, PARQUET_MEDIA_TYPE, {})
    try {
      const bytes = await receive(answer, part)
      await putInPlace(part, query.file)
      return { rows: Number(answer.response.headers[ROWS_HEADER.toLowerCase()]), bytes }
    } catch (error) {
      await rm(part, { force: true })
      throw error
    } finally {
      answer.hangUp()
    }
  })

/** Runs `work`. If the process ended because of this query, its error names the limit that the query passed. */
const told = <T>({ home, sql, timeoutMs }: HolderQuery, work: () => Promise<T>): Promise<T> =>
  work().catch(error => {
    throw (isCode(error, 'WAREHOUSE_ENDED') && whyEnded(home, queryStatement(sql, timeoutMs))) || error
  })

/**
 * Asks the process that holds the warehouse another question (`Questions`).
 *
 * @throws as `queryHolder`, also WAREHOUSE_LOCKED if the process does not answer this question, and the question's own errors
 */
export async function askHolder<T>(asked: Asked & { path: string; question: object }): Promise<T> {
  const { pieces } = await post(asked, 'application/json', asked.question, asked.path)
  return JSON.parse(await text(pieces())) as T
}

async function receive(answer: Answer, part: string): Promise<number> {
  const handle = await open(part, 'w', 0o600).catch(cause => {
    throw notWritable('HOME_UNUSABLE', part, cause)
  })
  try {
    let bytes = 0
    for await (const piece of answer.pieces()) {
      await handle.writeFile(piece)
      bytes += piece.length
    }
    return bytes
  } finally {
    await handle.close()
  }
}

function resultOf(answer: Answer, messages: AsyncGenerator<CellsMessage>, columns: Column[]): QueryResult {
  let tally: Tally = { rows: 0, truncated: false }
  async function* batches(): AsyncGenerator<Batch> {
    try {
      for (;;) {
        const message = await nextMessage(messages)
        if ('end' in message) {
          tally = message.end
          return
        }
        if (!('batch' in message)) throw ended()
        tally = { rows: tally.rows + message.batch.rows, truncated: false }
        yield message.batch
      }
    } finally {
      answer.hangUp()
    }
  }
  return { columns, batches: batches(), tally: () => tally, close: async () => answer.hangUp() }
}

/** Reads the next message. @throws the error that the holder reported; WAREHOUSE_ENDED if the answer ends without its last message */
async function nextMessage(
  messages: AsyncGenerator<CellsMessage>,
): Promise<Exclude<CellsMessage, { error: ErrorBody }>> {
  const { value: message, done } = await messages.next()
  if (done) throw ended()
  if ('error' in message) throw errorFrom(message.error)
  return message
}

interface Answer {
  response: IncomingMessage
  /** Yields the body. @throws the reason if it ends early */
  pieces(): AsyncGenerator<Buffer>
  /** Closes the connection, which stops the query. */
  hangUp(): void
}

async function post(query: Asked, accept: string, more: object, path = QUERY_PATH): Promise<Answer> {
  const { home, sql, timeoutMs, signal } = query
  if (signal?.aborted) throw stopped()
  const body = JSON.stringify({ sql, timeoutMs, ...more })
  const headers = { Accept: accept, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const request = httpRequest({
    socketPath: await socketPath(home),
    path,
    method: 'POST',
    headers,
    agent: false,
  })
  let reason: ConvohouseError | undefined
  const hangUpFor = (error: ConvohouseError) => {
    reason ??= error
    request.destroy()
  }
  const onAbort = () => hangUpFor(stopped())
  const timer = setTimeout(() => hangUpFor(silent(timeoutMs)), timeoutMs + GRACE_MS)
  signal?.addEventListener('abort', onAbort, { once: true })
  request.once('close', () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  })

  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // Stays registered for errors of a connection that is closed early.
    request.on('error', cause => reject(reason ?? connectionError(cause)))
    request.once('response', resolve)
    request.end(body)
  })
  async function* pieces(): AsyncGenerator<Buffer> {
    try {
      yield* response as AsyncIterable<Buffer>
    } catch (cause) {
      throw reason ?? connectionError(cause as NodeJS.ErrnoException)
    }
  }
  const answer = { response, pieces, hangUp: () => void request.destroy() }
  if (response.statusCode === 404 && path !== QUERY_PATH) throw unanswered()
  if (response.statusCode !== 200) throw await refusal(answer)
  return answer
}

/** Statuses for a path, method or format that a server of another version does not know. */
const UNKNOWN_TO_OTHERS = [404, 405, 406]

async function refusal({ response, pieces }: Answer): Promise<ConvohouseError> {
  if (UNKNOWN_TO_OTHERS.includes(response.statusCode!)) return otherVersion()
  try {
    return errorFrom((JSON.parse(await text(pieces())) as { error: ErrorBody }).error)
  } catch (error) {
    return error instanceof ConvohouseError ? error : otherVersion()
  }
}

function connectionError(cause: NodeJS.ErrnoException): ConvohouseError {
  if (cause instanceof ConvohouseError) return cause
  if (cause.syscall === 'connect') return unanswered(cause)
  return cause.code?.startsWith('HPE_') ? otherVersion(cause) : ended()
}

const ended = () =>
  new ConvohouseError('WAREHOUSE_ENDED', {
    what: 'The process that holds the warehouse ended while it ran this query, perhaps because of it.',
    hint: '`convohouse up` and `worker` restart it and log the query; nothing is lost. Try again; if it ends each time, write the query differently.',
  })

const stopped = () => new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' })

const silent = (timeoutMs: number) =>
  new ConvohouseError('QUERY_TIMEOUT', {
    what: `The process that holds the warehouse did not answer within ${durationText(timeoutMs)}.`,
    hint: 'Query fewer rows, or raise the timeout.',
  })

const unanswered = (cause?: Error) =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: 'Another process holds the warehouse and does not answer this command.',
    hint: 'Wait until it has ended, or stop it.',
    ...(cause && { cause }),
  })

const otherVersion = (cause?: Error) =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: 'The process that holds the warehouse runs another version of convohouse.',
    hint: 'Restart it with this version.',
    ...(cause && { cause }),
  })
