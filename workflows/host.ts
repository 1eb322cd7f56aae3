// The host gives the orchestration time, ids, requests from people, and a place to publish progress.

import type { ErrorCode } from '../src/core/errors.ts'
import type { Allowance, GovernorState } from '../src/core/governor/governor.ts'
import type { Failure } from './steps.ts'

export interface Host {
  now(): number
  /** Resolves at that time, or when `wake` resolves. Rejects when the run is cancelled. */
  sleepUntil(untilMs: number, wake: Promise<void>): Promise<void>
  newId(): string
  cancelled(): boolean
  /** Publishes progress to followers. */
  notify(update: ProgressUpdate): void
  /** Resolves when no pause is requested, or when the run is cancelled. */
  untilResumed?(): Promise<void>
  /** Returns the allowances granted since the last call. */
  takeAllowances?(): Allowance[]
  /** True if other work that precedes history is waiting; `sleepUntil` then ends early. */
  shouldYield?(): boolean
  /** True if the host cannot continue for long: leases in flight run to their end, and the rest of the run is handed over. */
  shouldHandOver?(): boolean
}

/** What a sync does after its last answer: it loads pages, requests resources by the ids in them, and derives figures. */
export interface Finishing {
  work: 'pages' | 'resources' | 'marts' | 'models' | 'checks'
  /** Number of pages or ids that are left; null if it is not known. */
  left: number | null
  /** The model that is built. */
  name?: string
}

export type ProgressUpdate =
  /** The run lists agents and reads landed pages. With `heldUntilMs`, it still waits for leases that others hold. */
  | { kind: 'planning'; heldUntilMs: number | null }
  | { kind: 'planned'; windows: number; agents: number }
  | { kind: 'governor'; governor: GovernorState; windowsLeft: number }
  /** `code`: the failure that paused the run. */
  | { kind: 'waiting'; untilMs: number; reason: 'paused' | 'hour'; code?: ErrorCode }
  | ({ kind: 'finishing' } & Finishing)
  | { kind: 'events'; received: number; waiting: number; applied: number }
  | { kind: 'failure'; failure: Failure; agentId: string | null }
