// What a process that holds the warehouse and the one that supervises it tell each other.
import type { TemporalPlace } from '../temporal/client/connection.ts'

export interface DrainCounts {
  taken: number
  applied: number
}

export interface Work {
  /** Where Temporal is, where that is otherwise than its own variables say. */
  place: Partial<TemporalPlace>
  /** The command's id, where another of its processes uses leases. */
  holder: string | null
  /** It tells when a sync begins and ends. */
  tells: boolean
}

export interface Working {
  place: TemporalPlace
  /** `host:port` of the metrics of its SDK. */
  metrics: string
}

export type ChildMessage =
  /** The warehouse is open, and queries are answered. */
  | { kind: 'holding' }
  /** Tasks are taken. */
  | ({ kind: 'working' } & Working)
  /** A query begins, without its literals; null: it has ended. */
  | { kind: 'query'; id: number; sql: string | null }
  /** Webhook events since the child began, by workspace. */
  | { kind: 'events'; counts: Record<string, DrainCounts> }

export type SupervisorMessage =
  | ({ kind: 'work' } & Work)
  /** As a signal that asks to end: the second one gives up what is under way. */
  | { kind: 'stop' }

/** Exit code of a child whose DuckDB answers nothing more: it is to be started again. */
export const DATABASE_INVALIDATED = 70
