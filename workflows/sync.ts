// Syncing a workspace: plan, then windows by leases, several at once, while what landed is loaded. Plain functions over
// (steps, host): the embedded engine calls them in process, Temporal as a workflow. Deterministic but for its arguments.
import type { GovernorState } from '../src/core/governor.ts'
import type { Host } from './host.ts'
import {
  type Checkpoint,
  checkpointOf,
  emptyReport,
  fail,
  newRun,
  type PreemptedSync,
  resumePreempted,
  stop,
  summary,
} from './run.ts'
import type { Steps, SyncReport, SyncRequest } from './steps.ts'
import { LANES, lane } from './window-loop.ts'

export type SyncResult =
  | { report: SyncReport; governor: GovernorState; carried: null }
  | { report: null; carried: Checkpoint }

/** Plans a sync: where it begins, or where the next leg of one that was preempted does. */
export async function planSync(
  steps: Steps,
  host: Host,
  request: SyncRequest,
  before: PreemptedSync | null = null,
): Promise<Checkpoint> {
  host.notify({ kind: 'planning', heldUntilMs: null })
  const { plan, governor, pagesWaiting, hasRows = false, warnings, failure } = await steps.prepare(request)
  host.notify({
    kind: 'planned',
    windows: plan.windows.length,
    agents: new Set(plan.windows.map(w => w.progress.window.agentId)).size,
  })
  const waiting = plan.windows.map(window => window.progress)
  const failures = failure ? [{ ...failure, agentId: null }] : []
  const report = { ...emptyReport(request.run), failures, ...(warnings && { warnings }) }
  const begun = { governor, waiting, pagesWaiting, hasRows, report, failing: 0, restarts: [] }
  return before === null ? begun : resumePreempted(begun, before)
}

/** Goes on from there, to the end of the sync or until the host hands over. */
export async function continueSync(
  steps: Steps,
  host: Host,
  request: SyncRequest,
  carried: Checkpoint,
): Promise<SyncResult> {
  const run = newRun(steps, host, request, carried)
  const lanes = await Promise.allSettled(
    Array.from({ length: LANES }, () =>
      lane(run).catch(error => {
        stop(run, host.cancelled() ? 'interrupted' : 'failed')
        if (!host.cancelled()) throw error
      }),
    ),
  )
  const loadFailure = await run.loader.drained(run.report.outcome === 'interrupted')
  if (loadFailure) fail(run, loadFailure, null)
  // Nobody goes on with what was cancelled meanwhile.
  if ((run.handsOver || run.report.outcome === 'preempted') && host.cancelled()) run.report.outcome = 'interrupted'
  else if (run.handsOver && !loadFailure && lanes.every(ended => ended.status === 'fulfilled'))
    return { report: null, carried: checkpointOf(run) }
  const report = summary(run)
  const finished = await steps.finish({ request, report }).catch(error => {
    // What the disk refused before it refuses here too, and it has been told.
    if (report.failures.every(failure => failure.kind !== 'storage')) throw error
    return undefined
  })
  if (finished?.quarantined) warnOfQuarantine(report, finished.quarantined)
  if (finished?.unnamed)
    warn(report, `organizations and teams could not be asked for: ${finished.unnamed.code}: ${finished.unnamed.what}`)
  if (finished?.refused) warnOfRefused(report, finished.refused)
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason
  return { report, governor: run.governor, carried: null }
}

function warn(report: SyncReport, warning: string): void {
  report.warnings = [...(report.warnings ?? []), warning]
}

function warnOfQuarantine(report: SyncReport, quarantined: number): void {
  const what =
    quarantined === 1 ? '1 record could not be loaded and is' : `${quarantined} records could not be loaded and are`
  report.quarantined = quarantined
  warn(report, `${what} quarantined: \`convohouse quarantine list\` shows which, and why`)
}

function warnOfRefused(report: SyncReport, refused: number): void {
  const what = refused === 1 ? '1 webhook event was' : `${refused} webhook events were`
  report.webhooksRefused = refused
  warn(report, `${what} refused since the sync before, and will not be sent again: \`convohouse status\` tells why`)
}

/** Runs one sync to its end. Vendor faults are in the report; what the data folder or the disk refuses is thrown. */
export async function syncWorkspace(steps: Steps, host: Host, request: SyncRequest): Promise<SyncReport> {
  for (let carried = await planSync(steps, host, request); ; ) {
    const ended = await continueSync(steps, host, request, carried)
    if (ended.carried === null) return ended.report
    carried = ended.carried
  }
}
