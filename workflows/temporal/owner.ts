// The owner of a workspace's quota: its input, its state, and its implementation of the orchestration's host.
import { CancellationScope, condition, setCurrentDetails, sleep, uuid4, workflowInfo } from '@temporalio/workflow'
import type { Allowance, GovernorState } from '../../src/core/governor/governor.ts'
import { type Deferred, newDeferred } from '../deferred.ts'
import type { Host } from '../host.ts'
import { applyUpdate, type PlanSummary, type Progress, progressMarkdown } from '../progress.ts'
import { nextSync, type QueuedSync } from '../requests.ts'
import type { Checkpoint } from '../run.ts'
import type { PlannedFrom } from '../steps.ts'

/** Input of a run of the owner workflow; continue-as-new passes the same fields on to the next run. */
export interface SyncInput extends PlannedFrom {
  workspaceId: string
  queue?: QueuedSync[]
  /** The running sync and the checkpoint that it continues from. */
  resume?: { run: string; checkpoint: Checkpoint; allowed: Allowance[]; timeoutMs: number; aheadMs: number } | null
  progress?: Progress
  /** The plan of the running sync. */
  plan?: PlanSummary | null
}

export interface Owner {
  input: SyncInput
  /** Set by the first planning; activities on workers with another landing then refuse. */
  planned: PlannedFrom
  queue: QueuedSync[]
  /** The running sync. */
  current: QueuedSync | null
  progress: Progress
  plan: PlanSummary | null
  governor: GovernorState | null
  allowed: Allowance[]
  /** Resolving it ends every sleep of the host. */
  sleepInterrupted: Deferred
  /** Timeout of the running sync's requests, and the lead of the vendor's clock. */
  timeoutMs: number
  aheadMs: number
  root: CancellationScope
  /** Leases of windows that can wait: they end early when a person requests a sync. */
  preemptible: Set<CancellationScope>
}

/** Publishes progress to queries and to Temporal's UI. */
export function publishProgress(owner: Owner, progress: Progress): void {
  owner.progress = progress
  setCurrentDetails(progressMarkdown(progress))
}

export const cancelled = ({ root }: Owner): boolean => root.consideredCancelled

/** True if another sync, or a new plan of the running one, precedes the running sync's history. */
function shouldYield({ queue, current }: Owner): boolean {
  const next = nextSync(queue)
  return next !== undefined && (next !== current || next.urgent)
}

/** Ends the leases of windows that can wait, once their requests in flight are answered. */
export function endPreemptibleLeases({ preemptible }: Owner): void {
  for (const scope of preemptible) scope.cancel()
}

export function interruptSleep(owner: Owner): void {
  owner.sleepInterrupted.resolve()
  owner.sleepInterrupted = newDeferred()
}

/** Returns the owner as host of the orchestration: time and ids come from Temporal, because it runs inside a workflow. */
export const workflowHost = (owner: Owner): Host => ({
  now: () => Date.now(),
  newId: () => `wf-${uuid4().slice(0, 13)}`,
  cancelled: () => cancelled(owner),
  notify(update) {
    if (update.kind === 'governor') owner.governor = update.governor
    publishProgress(owner, applyUpdate(owner.progress, update))
  },
  async sleepUntil(untilMs, wake) {
    const scope = new CancellationScope()
    const slept = scope.run(() => sleep(Math.max(1, untilMs - Date.now())))
    slept.catch(() => {})
    try {
      await Promise.race([slept, wake, owner.sleepInterrupted.promise])
    } finally {
      scope.cancel()
    }
  },
  untilResumed: () => condition(() => !owner.progress.paused || cancelled(owner)),
  shouldYield: () => shouldYield(owner),
  takeAllowances: () => owner.allowed.splice(0),
  shouldHandOver: () => workflowInfo().continueAsNewSuggested,
})
