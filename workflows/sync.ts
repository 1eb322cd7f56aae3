// Syncing a workspace: plan, read windows under leases in concurrent loops while landed pages are loaded, report. Plain functions
// over (steps, host), deterministic in their arguments: the embedded engine calls them in process, Temporal inside a workflow.
import { failureOf } from '../src/core/errors.ts'
import type { GovernorState } from '../src/core/governor/governor.ts'
import type { Host } from './host.ts'
import { addFinished, emptyReport, finalReport } from './report.ts'
import { type Checkpoint, checkpointOf, fail, newRun, type PreemptedSync, resumePreempted, stop } from './run.ts'
import type { Steps, SyncReport, SyncRequest } from './steps.ts'
import { CONCURRENT_WINDOWS, windowLoop } from './window-loop.ts'

/** A sync has either ended with a report or been handed over with a checkpoint. */
type SyncResult =
  | { report: SyncReport; governor: GovernorState; checkpoint: null }
  | { report: null; checkpoint: Checkpoint }

/** Runs one sync to its end. The report contains the vendor's failures; failures of the data folder or the disk are thrown. */
export async function syncWorkspace(steps: Steps, host: Host, request: SyncRequest): Promise<SyncReport> {
  for (let checkpoint = await planSync(steps, host, request); ; ) {
    const result = await continueSync(steps, host, request, checkpoint)
    if (result.checkpoint === null) return result.report
    checkpoint = result.checkpoint
  }
}

/** Plans a sync, or the rest of a preempted one. */
export async function planSync(
  steps: Steps,
  host: Host,
  request: SyncRequest,
  preempted: PreemptedSync | null = null,
): Promise<Checkpoint> {
  host.notify({ kind: 'planning', heldUntilMs: null })
  const prepared = await steps.prepare(request)
  const { plan, governor, pagesWaiting, hasRows = false, warnings, agentsLeftOut, failure } = prepared
  host.notify({
    kind: 'planned',
    windows: plan.windows.length,
    agents: new Set(plan.windows.map(w => w.progress.window.agentId)).size,
  })
  const waiting = plan.windows.map(window => window.progress)
  const failures = failure ? [{ ...failure, agentId: null }] : []
  const notes = { ...(warnings && { warnings }), ...(agentsLeftOut && { agentsLeftOut }) }
  const report = { ...emptyReport(request.run), failures, ...notes }
  const planned = {
    governor,
    waiting,
    pagesWaiting,
    hasRows,
    report,
    failing: 0,
    limited: 0,
    suspects: [],
    answered: [],
  }
  return preempted === null ? planned : resumePreempted(planned, preempted)
}

/** Continues a sync from a checkpoint until it ends, or until the host hands over. */
export async function continueSync(
  steps: Steps,
  host: Host,
  request: SyncRequest,
  checkpoint: Checkpoint,
): Promise<SyncResult> {
  const run = newRun(steps, host, request, checkpoint)
  const loops = await Promise.allSettled(
    Array.from({ length: CONCURRENT_WINDOWS }, () =>
      windowLoop(run).catch(error => {
        stop(run, host.cancelled() ? 'interrupted' : 'failed')
        if (!host.cancelled()) throw error
      }),
    ),
  )
  // The error is recorded with the run, and thrown below.
  for (const loop of loops) {
    const failure = loop.status === 'rejected' ? failureOf(loop.reason) : null
    if (failure) run.report.failures.push({ ...failure, agentId: null })
  }
  const loadFailure = await run.loader.drained(run.report.outcome === 'interrupted', left =>
    host.notify({ kind: 'finishing', work: 'pages', left }),
  )
  if (loadFailure) fail(run, loadFailure, null)
  // No host continues a sync that was cancelled while it handed over.
  if ((run.handingOver || run.report.outcome === 'preempted') && host.cancelled()) run.report.outcome = 'interrupted'
  else if (run.handingOver && !loadFailure && loops.every(loop => loop.status === 'fulfilled'))
    return { report: null, checkpoint: checkpointOf(run) }
  const report = finalReport(run)
  host.notify({ kind: 'finishing', work: 'resources', left: null })
  const finished = await steps.finish({ request, report }).catch(error => {
    // A disk that failed earlier also fails here, and the report already contains that failure.
    if (report.failures.every(failure => failure.kind !== 'storage')) throw error
    return undefined
  })
  if (finished) addFinished(report, finished)
  for (const loop of loops) if (loop.status === 'rejected') throw loop.reason
  return { report, governor: run.governor, checkpoint: null }
}
