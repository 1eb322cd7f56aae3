// Asking the process that holds the warehouse.

import { open, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { ConvohouseError } from '../../core/errors.ts'
import { durationText, SECOND } from '../../core/time.ts'
import type { ResultLayout } from './casts.ts'
import { decodeBatch } from './formats/cells.ts'
import { type ParquetFile, partOf, putInPlace } from './parquet.ts'
import type { Batch, Column, QueryResult, Tally } from './results.ts'
import type { QueryLimits } from './session.ts'
import { socketPath } from './socket-path.ts'
import {
  type AnswerMessage,
  type Frame,
  PROTOCOL,
  type QueryMessage,
  readFrames,
  sendFrame,
  toldError,
} from './socket-protocol.ts'

/** A batch holds some thousand cells; a frame above this is no answer of ours. In bytes. */
const LONGEST_ANSWER = 1_000_000_000

/** The holder keeps the time; this only ends a wait for a holder that has stopped altogether. */
const GRACE_MS = 10 * SECOND

export interface HolderQuery extends QueryLimits {
  /** The data folder. */
  home: string
  sql: string
}

/**
 * `runQuery` by the process that holds the warehouse.
 *
 * @throws WAREHOUSE_LOCKED where nobody answers, or too many ask; SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED
 */
export async function queryHolder(
  request: HolderQuery & { maxRows?: number; taker?: ResultLayout },
): Promise<QueryResult> {
  const line = await ask(request, { format: request.taker ?? 'rows', maxRows: request.maxRows ?? null })
  try {
    const first = await line.next()
    if (first.message.kind !== 'columns') throw ended()
    return resultOf(line, first.message.columns)
  } catch (error) {
    line.hangUp()
    throw error
  }
}

/**
 * `copyToParquet` by the process that holds the warehouse; the file is written here.
 *
 * @throws as `askHolder`, and HOME_UNUSABLE where the file cannot be written
 */
export async function queryHolderToParquet(request: HolderQuery & { file: string }): Promise<ParquetFile> {
  const part = partOf(request.file)
  const line = await ask(request, { format: 'parquet', maxRows: null })
  try {
    const written = await receive(line, part)
    await putInPlace(part, request.file)
    return written
  } catch (error) {
    await rm(part, { force: true })
    throw error
  } finally {
    line.hangUp()
  }
}

async function receive(line: Line, part: string): Promise<ParquetFile> {
  const handle = await open(part, 'w', 0o600).catch(cause => {
    throw new ConvohouseError('HOME_UNUSABLE', {
      what: `${part} cannot be written.`,
      hint: 'Give another file.',
      cause,
    })
  })
  try {
    for (let bytes = 0; ; ) {
      const { message, payload } = await line.next()
      if (message.kind === 'end') return { rows: message.rows, bytes }
      await handle.writeFile(payload)
      bytes += payload.length
    }
  } finally {
    await handle.close()
  }
}

function resultOf(line: Line, columns: Column[]): QueryResult {
  let tally: Tally = { rows: 0, truncated: false }
  async function* batches(): AsyncGenerator<Batch> {
    try {
      for (;;) {
        const { message, payload } = await line.next()
        if (message.kind === 'end') {
          tally = { rows: message.rows, truncated: message.truncated }
          return
        }
        const batch = decodeBatch(payload, columns)
        tally = { rows: tally.rows + batch.rows, truncated: false }
        yield batch
      }
    } finally {
      line.hangUp()
    }
  }
  return { columns, batches: batches(), tally: () => tally, close: async () => line.hangUp() }
}

interface Line {
  /** The next message that is no error; an error is thrown as what it tells. */
  next(): Promise<Frame<AnswerMessage>>
  hangUp(): void
}

async function ask(request: HolderQuery, as: Pick<QueryMessage, 'format' | 'maxRows'>): Promise<Line> {
  const { home, sql, timeoutMs, signal } = request
  if (signal?.aborted) throw stopped()
  const socket = await dial(await socketPath(home))
  let reason: ConvohouseError | undefined
  const hangUpFor = (error: ConvohouseError) => {
    reason ??= error
    socket.destroy()
  }
  const onAbort = () => hangUpFor(stopped())
  const timer = setTimeout(() => hangUpFor(silent(timeoutMs)), timeoutMs + GRACE_MS)
  signal?.addEventListener('abort', onAbort, { once: true })
  socket.once('close', () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  })
  const frames = readFrames<AnswerMessage>(socket, LONGEST_ANSWER)
  const next = async () => {
    const { value } = await frames.next().catch(cause => Promise.reject(reason ?? lost(cause)))
    if (!value) throw reason ?? ended()
    if (value.message.kind === 'error') throw toldError(value.message)
    return value
  }
  await sendFrame(socket, { kind: 'query', protocol: PROTOCOL, sql, timeoutMs, ...as })
  return { next, hangUp: () => socket.destroy() }
}

function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.off('error', refuse)
      // Errors after this end the reading of frames; a listener keeps them from ending the process.
      socket.on('error', () => {})
      resolve(socket)
    })
    const refuse = (cause: Error) => reject(unanswered(cause))
    socket.once('error', refuse)
  })
}

const ended = () =>
  new ConvohouseError('WAREHOUSE_ENDED', {
    what: 'The process that holds the warehouse ended while it ran this query, perhaps because of it.',
    hint: '`convohouse up` and `worker` start it again, and say what it ran; nothing is lost. Ask again; where it ends each time, ask in another way.',
  })

/** An answer that is cut off is told as one that never came: whoever answers tells an end of its own. */
const lost = (cause: unknown) => (cause instanceof ConvohouseError && cause.code !== 'INTERRUPTED' ? cause : ended())

const stopped = () => new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' })

const silent = (timeoutMs: number) =>
  new ConvohouseError('QUERY_TIMEOUT', {
    what: `The process that holds the warehouse did not answer within ${durationText(timeoutMs)}.`,
    hint: 'Ask for less, or allow it more time.',
  })

const unanswered = (cause: Error) =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: 'Another process holds the warehouse, and answers no queries.',
    hint: 'Wait until it has ended, or stop it.',
    cause,
  })
