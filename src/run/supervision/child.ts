// The supervised process, which holds the warehouse. It follows its supervisor's requests and ends when the supervisor does.
import { setTimeout as sleep } from 'node:timers/promises'
import { newDeferred } from '../../../workflows/deferred.ts'
import type { App } from '../../app.ts'
import { SECOND } from '../../core/time.ts'
import { pendingErasures } from '../../landing/tombstones.ts'
import { isInvalidated } from '../../warehouse/fault.ts'
import {
  type ChildMessage,
  DATABASE_INVALIDATED,
  type DrainCounts,
  ERASES,
  type SupervisorMessage,
  type Work,
  type Working,
} from './messages.ts'

interface SupervisorLink {
  /** Reports that the warehouse is open, then drain counts every second, which also show that this process is alive; exits when DuckDB has invalidated the database. */
  holds(app: App, home: string): void
  /** Reports that this process, which does not hold the warehouse, does its work. */
  ready(): void
  /** Reports the start of a query (`sql`) or its end (null). */
  query(id: number, sql: string | null): void
  /** Resolves when the supervisor requests a Temporal worker, or with null if it requests a stop before that. */
  work(): Promise<Work | null>
  works(working: Working): void
}

const LOOK_EVERY_MS = SECOND

/** Connects to the supervisor; calls `stop` each time the supervisor asks this process to end. */
export function connectToSupervisor(stop: () => void): SupervisorLink {
  const work = newDeferred<Work | null>()
  const send = (message: ChildMessage): void => {
    if (process.connected) process.send!(message, undefined, undefined, () => {})
  }
  // SIGKILL is safe at any time and releases the warehouse at once. The supervisor may have ended during the start.
  const end = () => process.kill(process.pid, 'SIGKILL')
  process.once('disconnect', end)
  if (!process.connected) end()
  process.on('message', (message: SupervisorMessage) => {
    if (message.kind === 'work') work.resolve(message)
    else {
      work.resolve(null)
      stop()
    }
  })
  // The channel must not keep a finished command alive.
  process.channel?.unref()
  return {
    holds(app, home) {
      send({ kind: 'holding' })
      void endToErase(home, stop)
      setInterval(() => {
        const counts = [...app.spools].map(([id, spool]): [string, DrainCounts] => [id, spool.counts()])
        send({ kind: 'events', counts })
      }, LOOK_EVERY_MS).unref()
      void exitWhenInvalidated(app)
    },
    ready: () => send({ kind: 'holding' }),
    query: (id, sql) => send({ kind: 'query', id, sql }),
    work: () => work.promise,
    works: working => send({ kind: 'working', ...working }),
  }
}

/**
 * Ends the process once somebody is to be forgotten, since the warehouse is rebuilt for it: requests in flight still land,
 * and the restarted process erases before it continues.
 */
async function endToErase(home: string, stop: () => void): Promise<void> {
  while ((await pendingErasures(home).catch(() => [])).length === 0)
    await sleep(LOOK_EVERY_MS, undefined, { ref: false })
  process.once('exit', () => {
    process.exitCode = ERASES
  })
  stop()
}

/** Reads a table of the database every second, and exits once DuckDB has invalidated it. */
async function exitWhenInvalidated({ warehouse }: App): Promise<void> {
  for (;;) {
    await sleep(LOOK_EVERY_MS, undefined, { ref: false })
    try {
      const connection = await warehouse.instance.connect()
      await connection.run('SELECT 1 FROM _change_log LIMIT 0').finally(() => connection.closeSync())
    } catch (error) {
      if (isInvalidated(error)) process.exit(DATABASE_INVALIDATED)
    }
  }
}
