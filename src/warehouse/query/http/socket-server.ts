// Serves queries on a Unix socket in the process that holds the warehouse, since DuckDB lets no other process open the file. The
// socket's file mode is the authentication. A socket left by a killed process is replaced; one that a process serves is not.
import { chmod, lstat, mkdir, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { homeUnusable } from '../../../core/disk.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { SECOND } from '../../../core/time.ts'
import type { Connectable } from '../../connection.ts'
import { openQueryQueue } from '../concurrency.ts'
import { type QueryObserver, type Questions, queryHandler } from './handler.ts'
import { answers, socketPath } from './socket-path.ts'

/** Maximum number of concurrent queries; others wait. More would only share processors and DuckDB's memory limit. */
const MAX_QUERIES = 4

/** Number of queries that may wait; one more is refused. */
const MAX_WAITING = 64

/** Time limit of `close` for queries that DuckDB does not interrupt, and for clients that do not read. */
const CLOSE_WITHIN_MS = 5 * SECOND

export interface QueryServer {
  path: string
  questions: Questions
  /** Stops listening, interrupts running queries and reports it to the clients; call it before closing the instance. */
  close(): Promise<void>
}

/**
 * Answers queries on the data folder's socket, each on a separate connection, until closed.
 *
 * @throws WAREHOUSE_LOCKED if another process answers there; HOME_UNUSABLE
 */
export async function serveQueries({
  home,
  instance,
  onQuery,
}: {
  home: string
  instance: Connectable
  onQuery?: QueryObserver
}): Promise<QueryServer> {
  const path = await socketPath(home)
  const scratch = join(home, 'query-parts')
  const closing = new AbortController()
  const questions: Questions = new Map()
  const handle = queryHandler({
    connect: async () => {
      const connection = await instance.connect()
      // Applies only to this session: the process's own connections keep their time zone.
      await connection.run("SET SESSION TimeZone = 'UTC'")
      return { connection }
    },
    scratch,
    queue: openQueryQueue({ running: MAX_QUERIES, waiting: MAX_WAITING }),
    ...(onQuery && { onQuery }),
    questions,
    closing: closing.signal,
  })
  const answers = new Set<Promise<void>>()

  const server = createServer((request, response) => {
    const answer = handle(request, response).finally(() => answers.delete(answer))
    answers.add(answer)
  })
  await listen(server, path)
  // A killed process may have left Parquet files there.
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { mode: 0o700 })

  return {
    path,
    questions,
    close: async () => {
      server.close()
      closing.abort()
      await Promise.race([Promise.allSettled(answers), sleep(CLOSE_WITHIN_MS, undefined, { ref: false })])
      server.closeAllConnections()
      await rm(scratch, { recursive: true, force: true })
    },
  }
}

/** Listens at the path, open only to this user. */
async function listen(server: Server, path: string): Promise<void> {
  const first = await tryListen(server, path)
  if (first === undefined) return
  if (first.code !== 'EADDRINUSE') throw homeUnusable(path, first)
  await removeStale(path)
  const second = await tryListen(server, path)
  if (second) throw second.code === 'EADDRINUSE' ? alive(path) : homeUnusable(path, second)
}

async function tryListen(server: Server, path: string): Promise<NodeJS.ErrnoException | undefined> {
  // `listen` creates the socket synchronously, under this mask, so the socket never has a wider mode.
  const mask = process.platform === 'win32' ? undefined : process.umask(0o177)
  const error = await new Promise<NodeJS.ErrnoException | undefined>(resolve => {
    server.once('error', resolve)
    server.listen(path, () => {
      server.off('error', resolve)
      resolve(undefined)
    })
    if (mask !== undefined) process.umask(mask)
  })
  if (!error && mask !== undefined) await chmod(path, 0o600)
  return error
}

async function removeStale(path: string): Promise<void> {
  const before = await lstat(path).catch(() => undefined)
  if (!before) return
  if (!before.isSocket()) throw occupied(path)
  if (await answers(path)) throw alive(path)
  // Removes only the file that was found dead, not one that another process has created since.
  const now = await lstat(path).catch(() => undefined)
  if (now?.ino === before.ino) await rm(path, { force: true })
}

const alive = (path: string) =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: `Another process already answers queries at ${path}.`,
    hint: 'Stop that process, or leave it running and do not start a second one.',
  })

const occupied = (path: string) =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `The query socket ${path} cannot be opened: it is not a socket.`,
    hint: 'Remove what is at that path.',
  })
