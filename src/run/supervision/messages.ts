// Messages between the process that holds the warehouse and its supervisor.
import type { TemporalPlace } from '../temporal/client/connection.ts'

export interface DrainCounts {
  taken: number
  applied: number
}

export interface Work {
  /** Overrides the server and namespace that Temporal's environment variables name. */
  place: Partial<TemporalPlace>
  /** Id of the command if another of its processes runs leases, else null. */
  holder: string | null
  /** True if the worker logs a line when a sync begins and when it ends. */
  logsSyncs: boolean
}

export interface Working {
  place: TemporalPlace
  /** `host:port` of the SDK's metrics. */
  metrics: string
}

export type ChildMessage =
  /** The warehouse is open and answers queries. */
  | { kind: 'holding' }
  /** The worker polls for tasks. */
  | ({ kind: 'working' } & Working)
  /** A query began (its SQL without literals) or ended (null). */
  | { kind: 'query'; id: number; sql: string | null }
  /** Counts of webhook events taken and applied since the child started, by workspace, every second: a huge value can block the event loop. */
  | { kind: 'events'; counts: [workspaceId: string, DrainCounts][] }

export type SupervisorMessage =
  | ({ kind: 'work' } & Work)
  /** Works like SIGTERM: a second `stop` aborts requests in flight. */
  | { kind: 'stop' }

/** Exit code after DuckDB invalidated the database: the supervisor restarts the child. */
export const DATABASE_INVALIDATED = 70

/** Exit code of a child that ends to erase a forgotten person: the supervisor restarts it at once, and its start erases. */
export const ERASES = 76
