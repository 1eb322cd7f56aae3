// The process that holds the warehouse answers its owner's queries here, since DuckDB lets no other process in.
//
// What is bounded: who asks (the socket's mode), what is asked (`guard`, a read-only transaction), how long, how many
// at once, how many rows, and the bytes in flight (one frame and the socket's buffer for each query, by back-pressure).
// What is not: the memory that a query's sorts and joins take. An instance of DuckDB has one `memory_limit` for all of
// its connections, so a heavy query competes with loading for it, and spills like it. Nor is a query interrupted inside
// one huge value (`repeat('x', 2000000000)`): its asker is told of the timeout, and its place is taken until it ends.

import { mkdir, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE, SECOND } from '../../core/time.ts'
import type { Connectable } from '../connection.ts'
import { queriesAtOnce } from '../thread-pool.ts'
import { openQueryQueue } from './concurrency.ts'
import { answerQuery, type NoteQuery, type ServeLimits } from './socket-answer.ts'
import { listenAt } from './socket-listen.ts'
import { socketPath } from './socket-path.ts'

const DEFAULT_LIMITS: ServeLimits = {
  maxTimeoutMs: 10 * MINUTE,
  maxRows: 100_000_000,
  maxQueries: queriesAtOnce(undefined),
  maxWaiting: 64,
  maxWaitMs: 30 * SECOND,
}

/** Far above those that may wait: one beyond it is hung up on without a word. */
const MOST_CONNECTIONS = 512

/** How long `close` waits for queries that DuckDB does not interrupt. */
const CLOSE_WITHIN_MS = 5 * SECOND

export interface QueryServer {
  path: string
  /** Stops listening, interrupts what runs, and tells the askers; to be called before the instance is closed. */
  close(): Promise<void>
}

/**
 * Answers queries on the data folder's socket, each on a connection of its own, until closed.
 *
 * Forbids the instance to install or load extensions by itself: a caller's SQL must not make it fetch code.
 *
 * @throws WAREHOUSE_LOCKED where a living process answers there already; HOME_UNUSABLE
 */
export async function serveQueries({
  home,
  instance,
  noted,
  ...limits
}: { home: string; instance: Connectable; noted?: NoteQuery } & Partial<ServeLimits>): Promise<QueryServer> {
  await forbidExtensions(instance)
  const path = await socketPath(home)
  const all = { ...DEFAULT_LIMITS, ...limits }
  const turns = openQueryQueue({ running: all.maxQueries, waiting: all.maxWaiting })
  const context = { instance, scratch: join(home, 'query-parts'), limits: all, turns, ...(noted && { noted }) }
  const ending = new AbortController()
  const answers = new Set<Promise<void>>()

  const server = createServer((socket: Socket) => {
    const answer = answerQuery(socket, { ...context, ending: ending.signal }).finally(() => answers.delete(answer))
    answers.add(answer)
  })
  server.maxConnections = MOST_CONNECTIONS
  await listenAt(server, path)
  // A process that was killed may have left pieces of Parquet there.
  await rm(context.scratch, { recursive: true, force: true })
  await mkdir(context.scratch, { mode: 0o700 })

  return {
    path,
    close: async () => {
      server.close()
      ending.abort()
      await Promise.race([Promise.allSettled(answers), sleep(CLOSE_WITHIN_MS, undefined, { ref: false })])
      await rm(context.scratch, { recursive: true, force: true })
    },
  }
}

async function forbidExtensions(instance: Connectable): Promise<void> {
  const connection = await instance.connect()
  try {
    await connection.run('SET GLOBAL autoinstall_known_extensions = false')
    await connection.run('SET GLOBAL autoload_known_extensions = false')
  } finally {
    connection.closeSync()
  }
}
