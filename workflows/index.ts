// The Temporal shell: one workflow a workspace, `sync/<workspace>`, which owns that workspace's quota. It runs the same functions as
// the embedded engine, one sync after another, until none is asked for any more. What is exported here are the workflows.
import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  patched,
} from '@temporalio/workflow'
import { ConvohouseError } from '../src/core/errors.ts'
import { newDeferred } from './deferred.ts'
import { newProgress, runEnded, runStarted } from './progress.ts'
import { type AcceptedRequest, nextSync, type QueuedSync } from './requests.ts'
import { type Checkpoint, emptyReport, preemptedSync } from './run.ts'
import type { Failure, SyncReport } from './steps.ts'
import { continueSync, planSync } from './sync.ts'
import { warehouse } from './temporal/activity-calls.ts'
import { registerHandlers } from './temporal/handlers.ts'
import { cancelled, type Owner, publishProgress, type SyncInput } from './temporal/owner.ts'
import { workflowHost } from './temporal/owner-host.ts'
import { activitySteps } from './temporal/owner-steps.ts'
import { runs } from './temporal/sinks.ts'

export { ingestSpool } from './temporal/ingest.ts'

/** Hands over to the next run of this workflow: its history begins anew. */
async function carryOn(owner: Owner, { request }: QueuedSync, sync: Checkpoint): Promise<never> {
  await condition(allHandlersFinished)
  const { queue, progress, plan, allowed, timeoutMs, aheadMs, input } = owner
  const carried = { run: request.run, sync, allowed, timeoutMs, aheadMs }
  return continueAsNew<typeof syncWorkspace>({ workspaceId: input.workspaceId, queue, progress, plan, carried })
}

/** Goes on with one sync until it ends or is preempted; its report where it has ended. */
async function syncNext(owner: Owner, current: QueuedSync, carried: Checkpoint | null): Promise<SyncReport | null> {
  owner.current = current
  const { request, leg } = current
  const host = workflowHost(owner)
  const steps = activitySteps(owner, host)
  if (carried === null) {
    owner.plan = null
    publishProgress(owner, runStarted(owner.progress, request.run, leg?.report ?? null))
  }
  const from = carried ?? (await planSync(steps, host, request, leg))
  if (carried === null && owner.progress.paused) runs.paused(request.workspaceId, request.run, true)
  owner.governor = from.governor
  const result = await continueSync(steps, host, request, from)
  if (result.carried !== null) return carryOn(owner, current, result.carried)
  const { report, governor } = result
  if (report.outcome === 'preempted') {
    current.leg = preemptedSync(report, governor)
    return null
  }
  owner.queue.splice(owner.queue.indexOf(current), 1)
  publishProgress(owner, runEnded(owner.progress, report))
  return report
}

/**
 * What ends a sync before it has a report (nobody has consented, a folder cannot be used) ends the workflow; where others wait
 * behind it, they get their turn, and it has a report that says so.
 */
function giveUp(owner: Owner, current: QueuedSync, error: unknown): SyncReport {
  const failure = failureOf(error)
  if (failure === null || owner.queue.length < 2) throw error
  owner.queue.splice(owner.queue.indexOf(current), 1)
  const { run, workspaceId } = current.request
  runs.gaveUp(workspaceId, run, failure)
  const report: SyncReport = {
    ...(current.leg?.report ?? emptyReport(run)),
    outcome: 'failed',
    failures: [{ ...failure, agentId: null }],
  }
  publishProgress(owner, runEnded(owner.progress, report))
  return report
}

/** Cancelled while others had their turn, or while they were planned anew: what they have brought is told. */
async function endPreempted(owner: Owner): Promise<void> {
  const steps = activitySteps(owner, workflowHost(owner))
  for (const { request, leg } of owner.queue.splice(0)) {
    if (leg === null) continue
    const report: SyncReport = { ...leg.report, outcome: 'interrupted' }
    await steps.finish({ request, report })
    publishProgress(owner, runEnded(owner.progress, report))
  }
}

/** Syncs until nobody asks any more; the report of the sync that ended last. */
async function syncAll(owner: Owner, carried: SyncInput['carried']): Promise<SyncReport | null> {
  let last: SyncReport | null = null
  let from = carried ?? null
  for (;;) {
    const current = owner.queue.find(({ request }) => request.run === from?.run) ?? nextSync(owner.queue)
    if (current === undefined) return last
    const report = await syncNext(owner, current, from?.sync ?? null).catch(error => giveUp(owner, current, error))
    from = null
    last = report ?? last
  }
}

/** A sync that failed ends the workflow as failed, with its report: whoever watches the server sees it. */
function judge(report: SyncReport): void {
  if (report.outcome === 'interrupted') throw new CancelledFailure('Stopped on request; nothing is lost')
  const [failure] = report.failures
  if (report.outcome === 'failed' && failure)
    throw ApplicationFailure.nonRetryable(failure.what, failure.code, failure, report)
}

/**
 * A tick of a schedule. The server appends a time to the id of what a schedule starts, so a tick is no owner: it asks the owner,
 * which does at once what was asked for twice.
 */
export async function tick({ workspaceId }: { workspaceId: string }): Promise<AcceptedRequest> {
  return warehouse.ask({ workspaceId })
}

/** Null: it is none of ours, such as a cancellation. */
function failureOf(error: unknown): Failure | null {
  if (!(error instanceof ConvohouseError)) return null
  const { code, kind, message: what, hint = null } = error
  return { code, kind, what, hint }
}

/** Syncs one workspace, for as long as somebody asks for it; the last sync's report. */
export async function syncWorkspace(input: SyncInput): Promise<SyncReport | null> {
  const { carried = null, queue = [], progress = newProgress(), plan = null } = input
  const owner: Owner = {
    input,
    queue: queue.map(queued => ({ ...queued })),
    current: null,
    progress,
    plan,
    governor: carried?.sync.governor ?? null,
    allowed: carried?.allowed ?? [],
    nudged: newDeferred(),
    timeoutMs: carried?.timeoutMs ?? 0,
    aheadMs: carried?.aheadMs ?? 0,
    sleepsAlways: patched('sleeps-past-lost-leases'),
    asksHolders: patched('asks-holders-of-lost-leases'),
    root: CancellationScope.current(),
    patient: new Set(),
  }
  registerHandlers(owner)
  let last: SyncReport | null = null
  try {
    await condition(() => owner.queue.length > 0, '1 minute')
    last = await syncAll(owner, carried)
    await condition(allHandlersFinished)
  } catch (error) {
    const failure = failureOf(error)
    for (const { request, leg } of owner.queue)
      if (leg === null || failure) runs.gaveUp(request.workspaceId, request.run, failure)
    if (cancelled(owner)) await endPreempted(owner)
    if (failure === null) throw error
    throw ApplicationFailure.nonRetryable(failure.what, failure.code, failure)
  }
  if (last) judge(last)
  return last
}
