// Whoever hosts the orchestration, as it sees its host: time, ids, wishes, and an ear for news.
import type { Allowance } from '../src/core/allowance.ts'
import type { ErrorCode } from '../src/core/errors.ts'
import type { GovernorState } from '../src/core/governor.ts'
import type { Failure } from './steps.ts'

/** Time and ids of whoever hosts the orchestration. */
export interface Host {
  now(): number
  /** Resolves at that time, or when `wake` does. Rejects where the run is cancelled. */
  sleepUntil(untilMs: number, wake: Promise<void>): Promise<void>
  newId(): string
  cancelled(): boolean
  /** What a person looking on should know now. */
  notify(news: ProgressUpdate): void
  /** Resolves when nobody has asked for a pause; also where the run is cancelled. */
  untilResumed?(): Promise<void>
  /** What has been allowed since it was last asked. */
  takeAllowances?(): Allowance[]
  /** True where other work waits that comes before history; `sleepUntil` then ends early. */
  shouldYield?(): boolean
  /** True where the host cannot go on for long: what is under way is ended, and the rest handed over. */
  shouldHandOver?(): boolean
}

export type ProgressUpdate =
  /** Agents are being listed, and what has landed read; until then, with a time, leases that others hold are waited for. */
  | { kind: 'planning'; heldUntilMs: number | null }
  | { kind: 'planned'; windows: number; agents: number }
  | { kind: 'governor'; governor: GovernorState; windowsLeft: number }
  /** `code`: the failure that paused it. */
  | { kind: 'waiting'; untilMs: number; reason: 'paused' | 'hour'; code?: ErrorCode }
  | { kind: 'events'; received: number; waiting: number; applied: number }
  | { kind: 'failure'; failure: Failure; agentId: string | null }
