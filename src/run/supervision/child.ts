// The supervised side: the process that holds the warehouse ends with the one that has started it, and does what it is told by it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../app.ts'
import { SECOND } from '../../core/time.ts'
import { deferred } from './deferred.ts'
import { type ChildMessage, DATABASE_INVALIDATED, type SupervisorMessage, type Work, type Working } from './messages.ts'

export interface SupervisorLink {
  /** Tells that the warehouse is held, from now on what its spools have drained, and ends the process where DuckDB answers nothing more. */
  holds(app: App): void
  /** A query begins (`sql`), or has ended (null). */
  query(id: number, sql: string | null): void
  /** Resolves when it is to work for Temporal; with null where it is to end before. */
  work(): Promise<Work | null>
  works(working: Working): void
}

const LOOK_EVERY_MS = SECOND

/** Of a database that a fatal error has closed to everybody. */
const INVALIDATED = /database has been invalidated/

/** `stop` is called each time that the parent asks to end. */
export function connectToSupervisor(stop: () => void): SupervisorLink {
  const work = deferred<Work | null>()
  const tell = (message: ChildMessage): void => {
    if (process.connected) process.send!(message, undefined, undefined, () => {})
  }
  // Whoever waits for us is gone. To end as by a kill is safe at any moment, and leaves the warehouse to the next one at once.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.on('message', (message: SupervisorMessage) => {
    if (message.kind === 'work') work.resolve(message)
    else {
      work.resolve(null)
      stop()
    }
  })
  // To listen is no reason to stay: a command that has done its work ends.
  process.channel?.unref()
  return {
    holds(app) {
      tell({ kind: 'holding' })
      let told = ''
      setInterval(() => {
        const counts = Object.fromEntries([...app.spools].map(([id, spool]) => [id, spool.counts()]))
        const now = JSON.stringify(counts)
        if (now !== told) tell({ kind: 'events', counts })
        told = now
      }, LOOK_EVERY_MS).unref()
      void exitWhenInvalidated(app)
    },
    query: (id, sql) => tell({ kind: 'query', id, sql }),
    work: () => work.promise,
    works: working => tell({ kind: 'working', ...working }),
  }
}

/** Looks again and again, once at a time. */
async function exitWhenInvalidated({ warehouse }: App): Promise<void> {
  for (;;) {
    await sleep(LOOK_EVERY_MS, undefined, { ref: false })
    try {
      const connection = await warehouse.instance.connect()
      await connection.run('SELECT 1').finally(() => connection.closeSync())
    } catch (error) {
      if (INVALIDATED.test(String(error))) process.exit(DATABASE_INVALIDATED)
    }
  }
}
