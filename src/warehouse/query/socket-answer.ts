// One connection to the holder's socket: its query, answered.

import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import type { Connectable } from '../connection.ts'
import type { QueryQueue } from './concurrency.ts'
import { encodeBatch } from './formats/cells.ts'
import { outlineOf } from './guard/sql-text.ts'
import { copyIn } from './parquet.ts'
import { queryIn } from './query.ts'
import { queryError } from './query-error.ts'
import { openSession, type QuerySession } from './session.ts'
import { errorMessage, PROTOCOL, type QueryMessage, readFrames, sendFrame } from './socket-protocol.ts'

export interface ServeLimits {
  /** The longest that a query may take, whatever it asks for. */
  maxTimeoutMs: number
  /** The most rows that an answer may have; Parquet, which passes through no JavaScript, is not cut. */
  maxRows: number
  /** Queries that run at once; the others wait for their turn. */
  maxQueries: number
  /** Queries that wait; one more is refused at once. */
  maxWaiting: number
  /** The longest that a query waits for its turn, and no longer than its own timeout. */
  maxWaitMs: number
}

/** Whoever connects says soon what it wants. */
const ASK_WITHIN_MS = 5 * SECOND

/** After its timeout, a query whose asker does not take the rest is cut off. */
const TAKE_WITHIN_MS = 5 * SECOND

/** The longest query message, in bytes: the guard's longest SQL, escaped. */
const LONGEST_QUERY = 8_000_000

const PARQUET_PIECE = 256 * 1024

/** Told of each query that begins, without its literals, and that it has ended (null): who starts this process again tells what it ran. */
export type NoteQuery = (id: number, sql: string | null) => void

export interface AnswerContext {
  instance: Connectable
  limits: ServeLimits
  /** Folder for Parquet files on their way. */
  scratch: string
  turns: QueryQueue
  noted?: NoteQuery
  /** Aborted when the server closes. */
  ending: AbortSignal
}

/** Reads the query, answers it, and closes the socket. Never throws: what goes wrong is told to the asker. */
export async function answerQuery(socket: Socket, context: AnswerContext): Promise<void> {
  const asker = new AbortController()
  socket.once('end', () => asker.abort()).once('close', () => asker.abort())
  // A reset connection is a gone asker; `close` follows and tells so.
  socket.on('error', () => {})
  const waiting = AbortSignal.any([AbortSignal.timeout(ASK_WITHIN_MS), context.ending])
  const giveUp = () => socket.destroy()
  waiting.addEventListener('abort', giveUp)
  try {
    const query = await readQuery(socket)
    waiting.removeEventListener('abort', giveUp)
    // Nothing more is expected, but only a socket that is read notices that its other end has gone.
    socket.resume()
    await answer({ socket, query, context, signal: AbortSignal.any([asker.signal, context.ending]) })
  } catch (error) {
    await sendFrame(socket, errorMessage(queryError(error))).catch(() => {})
  } finally {
    waiting.removeEventListener('abort', giveUp)
    socket.end()
  }
}

async function readQuery(socket: Socket): Promise<QueryMessage> {
  const frames = readFrames<QueryMessage>(socket.iterator({ destroyOnReturn: false }), LONGEST_QUERY)
  const { value: frame } = await frames.next()
  await frames.return(undefined)
  const query = frame?.message
  if (query?.kind !== 'query' || query.protocol !== PROTOCOL || typeof query.sql !== 'string') {
    throw new ConvohouseError('WAREHOUSE_LOCKED', {
      what: 'The process that holds the warehouse is of another version of convohouse.',
      hint: 'Restart it with this version.',
    })
  }
  return query
}

interface Asked {
  socket: Socket
  query: QueryMessage
  context: AnswerContext
  signal: AbortSignal
}

let queries = 0

/** Ends only when DuckDB has let go of the connection: the turn goes on until then. Waiting for it counts as time of the query. */
async function answer(asked: Asked): Promise<void> {
  const { query, context, signal } = asked
  const { maxTimeoutMs, maxWaitMs } = context.limits
  const timeoutMs = Math.min(positive(query.timeoutMs), maxTimeoutMs)
  const beganMs = performance.now()
  const endTurn = await context.turns.acquire(Math.min(timeoutMs, maxWaitMs), signal)
  const id = ++queries
  context.noted?.(id, outlineOf(query.sql))
  try {
    await answerInTurn({ ...asked, timeoutMs: Math.max(1, timeoutMs - (performance.now() - beganMs)) })
  } finally {
    context.noted?.(id, null)
    endTurn()
  }
}

async function answerInTurn(asked: Asked & { timeoutMs: number }): Promise<void> {
  const { socket, context, signal, timeoutMs } = asked
  const cutOff = setTimeout(() => socket.destroy(), timeoutMs + TAKE_WITHIN_MS)
  const connection = await context.instance.connect()
  try {
    // A session's zone, not the instance's: the holder's own connections keep theirs.
    await connection.run("SET SESSION TimeZone = 'UTC'")
    const session = await openSession(connection, { timeoutMs, signal })
    try {
      await (asked.query.format === 'parquet' ? sendParquet : sendRows)({ ...asked, connection, session })
    } catch (error) {
      await sendFrame(socket, errorMessage(queryError(error))).catch(() => {})
    } finally {
      await session.close()
    }
  } finally {
    clearTimeout(cutOff)
    connection.closeSync()
  }
}

type Answering = Asked & { connection: DuckDBConnection; session: QuerySession }

async function sendRows({ socket, query, context, connection, session }: Answering): Promise<void> {
  const maxRows = Math.min(positive(query.maxRows), context.limits.maxRows)
  const result = await queryIn(session, {
    connection,
    sql: query.sql,
    maxRows,
    taker: query.format === 'columns' ? 'columns' : 'rows',
  })
  await sendFrame(socket, { kind: 'columns', columns: result.columns })
  for await (const batch of result.batches) await sendFrame(socket, { kind: 'rows' }, encodeBatch(batch))
  await sendFrame(socket, { kind: 'end', ...result.tally() })
}

let parts = 0

async function sendParquet({ socket, query, context, connection, session }: Answering): Promise<void> {
  parts += 1
  const part = join(context.scratch, `${parts}.parquet`)
  try {
    const rows = await copyIn(session, { connection, sql: query.sql, part })
    // The file needs no transaction any more, and one that stays open keeps the holder from tidying up.
    await session.close()
    for await (const piece of createReadStream(part, { highWaterMark: PARQUET_PIECE })) {
      await sendFrame(socket, { kind: 'bytes' }, piece as Buffer)
    }
    await sendFrame(socket, { kind: 'end', rows, truncated: false })
  } finally {
    await rm(part, { force: true })
  }
}

/** What the other end sent for a bound; no bound where it is no number above zero. */
const positive = (bound: unknown): number => (typeof bound === 'number' && bound > 0 ? bound : Number.POSITIVE_INFINITY)
