// The workflows. `syncWorkspace` runs as `sync/<workspace>`, one per workspace, and owns that workspace's quota: it runs
// requested syncs one after the other, with the same functions as the embedded engine, and ends when no request is left.
import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
} from '@temporalio/workflow'
import { failureOf } from '../src/core/errors.ts'
import { newDeferred } from './deferred.ts'
import { newProgress, runEnded, runStarted } from './progress.ts'
import { emptyReport } from './report.ts'
import { type AcceptedRequest, nextSync, type QueuedSync } from './requests.ts'
import { type Checkpoint, preemptedSync } from './run.ts'
import type { SyncReport } from './steps.ts'
import { continueSync, planSync } from './sync.ts'
import { warehouse } from './temporal/activity-calls.ts'
import { registerHandlers } from './temporal/handlers.ts'
import { cancelled, type Owner, publishProgress, type SyncInput, workflowHost } from './temporal/owner.ts'
import { activitySteps } from './temporal/owner-steps.ts'
import { runs } from './temporal/sinks.ts'

export { ingestSpool } from './temporal/ingest.ts'
export { publishTarget } from './temporal/publish.ts'

/** The owner workflow: runs the requested syncs of one workspace, and returns the report of the last one. */
export async function syncWorkspace(input: SyncInput): Promise<SyncReport | null> {
  const { resume = null, queue = [], progress = newProgress(), plan = null, landingId } = input
  const owner: Owner = {
    input,
    planned: landingId === undefined ? {} : { landingId },
    queue: queue.map(queued => ({ ...queued })),
    current: null,
    progress,
    plan,
    governor: resume?.checkpoint.governor ?? null,
    allowed: resume?.allowed ?? [],
    sleepInterrupted: newDeferred(),
    timeoutMs: resume?.timeoutMs ?? 0,
    aheadMs: resume?.aheadMs ?? 0,
    root: CancellationScope.current(),
    preemptible: new Set(),
  }
  registerHandlers(owner)
  let last: SyncReport | null = null
  try {
    await condition(() => owner.queue.length > 0, '1 minute')
    last = await runQueue(owner, resume)
    await condition(allHandlersFinished)
  } catch (error) {
    const failure = failureOf(error)
    for (const { request, preempted } of owner.queue)
      if (preempted === null || failure) runs.gaveUp(request.workspaceId, request.run, failure)
    if (cancelled(owner)) await finishPreempted(owner)
    if (failure === null) throw error
    throw ApplicationFailure.nonRetryable(failure.what, failure.code, failure)
  }
  if (last) failWith(last)
  return last
}

/**
 * A tick of a schedule. The server appends a time to the id of a workflow that a schedule starts, so a tick cannot be
 * the owner itself. It requests a sync from the owner, which runs a sync only once if it is already waiting or running.
 */
export async function tick({ workspaceId }: { workspaceId: string }): Promise<AcceptedRequest> {
  return warehouse.requestSync({ workspaceId })
}

/** Runs syncs until the queue is empty. Returns the report of the last one. */
async function runQueue(owner: Owner, resume: SyncInput['resume']): Promise<SyncReport | null> {
  let last: SyncReport | null = null
  let from = resume ?? null
  for (;;) {
    const current = owner.queue.find(({ request }) => request.run === from?.run) ?? nextSync(owner.queue)
    if (current === undefined) return last
    const report = await runSync(owner, current, from?.checkpoint ?? null).catch(error =>
      reportFailed(owner, current, error),
    )
    from = null
    last = report ?? last
  }
}

/** Runs one sync. Returns its report when it has ended, null when it was preempted. */
async function runSync(owner: Owner, current: QueuedSync, resumed: Checkpoint | null): Promise<SyncReport | null> {
  owner.current = current
  const { request, preempted } = current
  const host = workflowHost(owner)
  const steps = activitySteps(owner, host)
  if (resumed === null) {
    owner.plan = null
    publishProgress(owner, runStarted(owner.progress, request.run, preempted?.report ?? null))
  }
  const checkpoint = resumed ?? (await planSync(steps, host, request, preempted))
  if (resumed === null && owner.progress.paused) runs.paused(request.workspaceId, request.run, true)
  owner.governor = checkpoint.governor
  const result = await continueSync(steps, host, request, checkpoint)
  if (result.checkpoint !== null) return continueInNewRun(owner, current, result.checkpoint)
  const { report, governor } = result
  if (report.outcome === 'preempted') {
    current.preempted = preemptedSync(report, governor)
    return null
  }
  owner.queue.splice(owner.queue.indexOf(current), 1)
  publishProgress(owner, runEnded(owner.progress, report))
  return report
}

/** Continues the sync in a new run of this workflow, which begins with an empty history. */
async function continueInNewRun(owner: Owner, { request }: QueuedSync, checkpoint: Checkpoint): Promise<never> {
  await condition(allHandlersFinished)
  const { queue, progress, plan, allowed, timeoutMs, aheadMs, planned, input } = owner
  const resume = { run: request.run, checkpoint, allowed, timeoutMs, aheadMs }
  const { workspaceId } = input
  return continueAsNew<typeof syncWorkspace>({ workspaceId, ...planned, queue, progress, plan, resume })
}

/**
 * Returns a failed report if other syncs are queued, so that they run. Otherwise rethrows the error, which ends the
 * workflow. These errors occur before a sync has a report (no consent, an unusable folder).
 */
function reportFailed(owner: Owner, current: QueuedSync, error: unknown): SyncReport {
  const failure = failureOf(error)
  if (failure === null || owner.queue.length < 2) throw error
  owner.queue.splice(owner.queue.indexOf(current), 1)
  const { run, workspaceId } = current.request
  runs.gaveUp(workspaceId, run, failure)
  const report: SyncReport = {
    ...(current.preempted?.report ?? emptyReport(run)),
    outcome: 'failed',
    failures: [{ ...failure, agentId: null }],
  }
  publishProgress(owner, runEnded(owner.progress, report))
  return report
}

/** Reports the pages that preempted syncs have fetched, after a cancellation. */
async function finishPreempted(owner: Owner): Promise<void> {
  const steps = activitySteps(owner, workflowHost(owner))
  for (const { request, preempted } of owner.queue.splice(0)) {
    if (preempted === null) continue
    const report: SyncReport = { ...preempted.report, outcome: 'interrupted' }
    await steps.finish({ request, report })
    publishProgress(owner, runEnded(owner.progress, report))
  }
}

/** Fails the workflow of a failed sync, so that the server shows the failure; its details contain the report. */
function failWith(report: SyncReport): void {
  if (report.outcome === 'interrupted') throw new CancelledFailure('Stopped on request; nothing is lost')
  const [failure] = report.failures
  if (report.outcome === 'failed' && failure)
    throw ApplicationFailure.nonRetryable(failure.what, failure.code, failure, report)
}
