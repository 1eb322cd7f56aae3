// The owner of a workspace's quota: what it begins with, and what it knows while it lives.
import { type CancellationScope, setCurrentDetails } from '@temporalio/workflow'
import type { Allowance } from '../../src/core/allowance.ts'
import type { GovernorState } from '../../src/core/governor.ts'
import { type Deferred, newDeferred } from '../deferred.ts'
import type { PlanSummary } from '../plan-summary.ts'
import { type Progress, progressMarkdown } from '../progress.ts'
import { nextSync, type QueuedSync } from '../requests.ts'
import type { Checkpoint } from '../run.ts'

/** What a run of the workflow begins with; what it carries over to the next is the same. */
export interface SyncInput {
  workspaceId: string
  queue?: QueuedSync[]
  /** The sync that goes on, by its run. */
  carried?: { run: string; sync: Checkpoint; allowed: Allowance[]; timeoutMs: number; aheadMs: number } | null
  progress?: Progress
  /** Of the sync that goes on. */
  plan?: PlanSummary | null
}

export interface Owner {
  input: SyncInput
  queue: QueuedSync[]
  /** The one of them that goes on. */
  current: QueuedSync | null
  progress: Progress
  plan: PlanSummary | null
  governor: GovernorState | null
  allowed: Allowance[]
  /** Wakes those who sleep until a deadline. */
  nudged: Deferred
  /** Of the sync that goes on: how long a request takes at most, and the vendor's clock. */
  timeoutMs: number
  aheadMs: number
  /** Of a lost lease's holder; false in runs of before. */
  sleepsAlways: boolean
  /** Whether a lost lease is over; false in runs of before. */
  asksHolders: boolean
  root: CancellationScope
  /** Leases of windows that can wait: ended early where a person asks for something. */
  patient: Set<CancellationScope>
}

/** Tells whoever looks on, in Temporal's UI too. */
export function publishProgress(owner: Owner, progress: Progress): void {
  owner.progress = { ...progress, queued: Math.max(0, owner.queue.length - 1) }
  setCurrentDetails(progressMarkdown(owner.progress))
}

/** Somebody wants it to end. */
export const cancelled = ({ root }: Owner): boolean => root.consideredCancelled

/** True where another sync, or a new plan of this one, comes before the history of the one that goes on. */
export function shouldYield({ queue, current }: Owner): boolean {
  const next = nextSync(queue)
  return next !== undefined && (next !== current || next.urgent)
}

/** Ends leases of what can wait, behind the requests in flight. */
export function endPreemptibleLeases({ patient }: Owner): void {
  for (const scope of patient) scope.cancel()
}

/** Wakes whoever sleeps: something was asked for. */
export function interruptSleep(owner: Owner): void {
  owner.nudged.resolve()
  owner.nudged = newDeferred()
}
