// One read-only transaction that its owner, its timeout or an abort signal ends, whichever comes first.
//
//   open ──step──▶ open ──close──▶ closed
//     └─timeout, abort─▶ stopped: the running step is interrupted and rejects at once, later steps are refused,
//                        and the transaction is rolled back as soon as DuckDB returns.

import { setTimeout as sleep } from 'node:timers/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { ConvohouseError } from '../../core/errors.ts'
import { formatDuration, SECOND } from '../../core/time.ts'
import type { Statement } from '../statements/held.ts'
import { watchStatement } from '../statements/watchdog.ts'
import { queryError } from './query-error.ts'

/** DuckDB ignores an interrupt between two steps, so it is repeated until the step has ended. */
const INTERRUPT_EVERY_MS = 50

const SOON_MS = 1_000

export interface QueryLimits {
  /** Time from the start to the last row read, so that a slow reader cannot keep a transaction open for ever. */
  timeoutMs: number
  signal?: AbortSignal
  /** SQL of the owner to watch. */
  statement?: Statement
}

export interface QuerySession {
  /** Runs one step; throws QUERY_TIMEOUT, QUERY_MEMORY, INTERRUPTED, SQL_INVALID or SQL_REFUSED. Only one step may run at a time. */
  step<T>(work: () => Promise<T>): Promise<T>
  /** Rolls back and frees the connection. Waits for DuckDB, which checks for interrupts only between vectors. */
  close(): Promise<void>
  /** Like `close`, but waits at most a second: DuckDB does not interrupt a query inside one huge value. */
  closeSoon(): Promise<void>
}

/** The end of the newest session of each connection, which can have only one transaction at a time. */
const newest = new WeakMap<DuckDBConnection, Promise<void>>()

/**
 * Opens a read-only transaction, once earlier sessions of the connection have ended.
 *
 * @throws INTERRUPTED if the signal is already aborted; QUERY_HELD if the statement has ended a process before
 */
export async function openSession(connection: DuckDBConnection, limits: QueryLimits): Promise<QuerySession> {
  const before = newest.get(connection)
  let ended = () => {}
  newest.set(connection, new Promise(resolve => (ended = resolve)))
  await before
  let session: QuerySession | undefined
  try {
    session = createSession(connection, limits, ended)
    await session.step(() => connection.run('BEGIN TRANSACTION READ ONLY'))
    return session
  } catch (error) {
    await (session ? session.closeSoon() : ended())
    throw error
  }
}

function createSession(
  connection: DuckDBConnection,
  { timeoutMs, signal, statement }: QueryLimits,
  ended: () => void,
): QuerySession {
  let running: Promise<unknown> = Promise.resolve()
  let idle = true
  let closing: Promise<void> | undefined
  let stopped: ConvohouseError | undefined
  let endStep: (reason: ConvohouseError) => void = () => {}

  const stopFor = (reason: ConvohouseError) => {
    stopped ??= reason
    endStep(stopped)
    void close()
  }
  const unwatch = statement ? watchStatement(statement, stopFor) : () => {}
  const onAbort = () => stopFor(new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' }))
  const timer = setTimeout(() => stopFor(timeout(timeoutMs)), timeoutMs)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()

  async function release(): Promise<void> {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    const interrupting = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS)
    if (!idle) connection.interrupt()
    await running.catch(() => {})
    clearInterval(interrupting)
    unwatch()
    // Nothing was written, and an error may have ended the transaction already.
    await connection.run('ROLLBACK').catch(() => {})
  }

  function close(): Promise<void> {
    stopped ??= new ConvohouseError('INTERRUPTED', { what: 'The query was closed.' })
    closing ??= release().finally(ended)
    return closing
  }

  async function step<T>(work: () => Promise<T>): Promise<T> {
    if (stopped) throw stopped
    idle = false
    const started = work().finally(() => {
      idle = true
    })
    running = started
    try {
      // Promise.race with one promise for the session would keep every step's result in memory until the session ends.
      return await new Promise<T>((resolve, reject) => {
        endStep = reject
        started.then(resolve, reject)
      })
    } catch (error) {
      throw stopped ?? queryError(error)
    } finally {
      endStep = () => {}
    }
  }

  return { step, close, closeSoon: () => Promise.race([close(), sleep(SOON_MS, undefined, { ref: false })]) }
}

const timeout = (timeoutMs: number) =>
  new ConvohouseError('QUERY_TIMEOUT', {
    what: `The query ran longer than ${timeoutMs < SECOND ? `${Math.round(timeoutMs)} ms` : formatDuration(timeoutMs)}.`,
    hint: 'Query fewer rows, or raise the timeout.',
    facts: { timeoutMs },
  })
