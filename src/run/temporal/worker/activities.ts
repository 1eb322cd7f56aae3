// The activities: the steps as workers run them, by role, created from the worker's resources. Workflows import only types.
import { activityInfo, Context } from '@temporalio/activity'
import type { Client } from '@temporalio/client'
import type { ExportActivities, WarehouseActivities } from '../../../../workflows/activities.ts'
import type { DrainFailing } from '../../../../workflows/ingest.ts'
import type { Prepared, RunRef } from '../../../../workflows/steps.ts'
import { type TaskLogs, warehouseSteps } from '../../../app/warehouse-steps.ts'
import type { WorkspaceContexts } from '../../../app/workspace-context.ts'
import type { App } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import type { Call } from '../../../steps/export/export-steps.ts'
import type { RunLog } from '../../../steps/run-log.ts'
import type { PublicationNews } from '../../publishing.ts'
import { asFailure } from '../failure.ts'
import { drainForAWhile } from './drain.ts'
import { publishingActivity } from './publish.ts'
import type { RunLines } from './run-log-lines.ts'

export function exportActivities(
  contexts: WorkspaceContexts,
  ending: ShutdownSignals,
  client: Client,
): ExportActivities {
  const at = async (request: RunRef) => {
    const { steps } = await contexts.of(request)
    await contexts.reserve()
    return steps
  }
  const isHeld = () => isActivityCurrent(client)
  return {
    fetchPages: input =>
      asActivity(ending, async call => (await at(input.request)).fetchPages(input, { ...call, isHeld })),
    probe: input => asActivity(ending, async call => (await at(input.request)).probe(input, { ...call, isHeld })),
    recoverLease: input => asActivity(ending, async call => (await at(input.request)).recoverLease(input, call)),
  }
}

export function warehouseActivities(options: {
  contexts: WorkspaceContexts
  app: App
  config: Config
  ending: ShutdownSignals
  logs: TaskLogs
  lines: RunLines
  askOwner: AskOwner
  publicationFailing: PublicationNews
}): WarehouseActivities {
  const { contexts, app, config, ending, logs, lines, askOwner, publicationFailing } = options
  const publishTo = publishingActivity({ config, app, failing: publicationFailing })
  const stepsFor = <T>(run: RunRef, work: (steps: WarehouseSteps) => Promise<T>): Promise<T> =>
    asActivity(ending, async call => {
      const { workspaceContext } = await contexts.of(run)
      return work(await warehouseSteps({ app, config, workspaceContext, run: run.run, call }))
    })
  return {
    heldUntil: ({ lease, ...of }) => asActivity(ending, async () => (await contexts.of(of)).steps.heldUntilMs(lease)),
    prepare: request =>
      asActivity(ending, call =>
        logged(logs(request), lines, request, async () => {
          const { workspaceContext } = await contexts.of(request)
          const { prepare } = await warehouseSteps({ app, config, workspaceContext, run: request.run, call })
          // The titles of agents are customer data and must not enter the workflow's history.
          const landingId = await app.stores.landing.ensureId()
          return { ...(await prepare(request)), agents: [], timeoutMs: workspaceContext.timeoutMs, landingId }
        }),
      ),
    requestSync: ({ workspaceId }) => asActivity(ending, () => askOwner(workspaceId)),
    load: run => stepsFor(run, ({ load }) => load({ workspaceId: run.workspaceId })),
    drain: ({ workspaceId }) =>
      asActivity(ending, ({ stopping = ending.stopping }) =>
        drainForAWhile({ config, app, workspaceId, stopping, failing: logFailing }),
      ),
    async finish(input) {
      const finished = await stepsFor(input.request, ({ finish }) => finish(input))
      lines.ended(input.request, input.report)
      return finished
    },
    publish: input =>
      asActivity(ending, (_call, progress) => publishTo(input, { stopping: ending.stopping, progress })),
  }
}

/** Logs a drain failure, or its end, with the workflow's id. */
function logFailing(failure: DrainFailing): void {
  const { log } = Context.current()
  if (failure === null) log.warn('applying webhook events works again')
  else log.warn(`webhook events wait in the spool, and are retried until they can be applied: ${failure.what}`)
}

/** Records the run before it is planned. A failed attempt is recorded in the run's row; a later attempt may succeed. */
async function logged<T extends Prepared>(
  log: RunLog,
  lines: RunLines,
  run: RunRef,
  plan: () => Promise<T>,
): Promise<T> {
  // Ignored here, because the run meets and reports the same disk error.
  await log.begin().catch(() => {})
  try {
    const planned = await plan()
    await log.failing(null)
    lines.planned(run, planned)
    return planned
  } catch (error) {
    await log.failing(error).catch(() => {})
    lines.notPlanned(run, error)
    throw error
  }
}

type AskOwner = (workspaceId: string) => ReturnType<WarehouseActivities['requestSync']>
type WarehouseSteps = Awaited<ReturnType<typeof warehouseSteps>>

/** The two stages of a worker's shutdown. */
export interface ShutdownSignals {
  /** Finishes requests in flight, and sends no more. */
  stopping: AbortSignal
  /** Aborts requests in flight. */
  aborted: AbortSignal
}

/** Heartbeats per heartbeat timeout: some may be lost, and a cancellation arrives only with the answer to a heartbeat. */
const HEARTBEATS = 10

/** Asks the server whether this attempt is still current: false if it timed out or was cancelled, or if the server cannot be reached. */
async function isActivityCurrent({ activity }: Client): Promise<boolean> {
  try {
    await activity.heartbeat(activityInfo().taskToken)
    return true
  } catch {
    return false
  }
}

/**
 * Runs an activity's work. Sends a heartbeat for every landed page and every tenth of the heartbeat timeout, so that a frozen
 * process is noticed. A cancelled activity finishes its request in flight and returns. `progress` replaces the heartbeats' content.
 */
async function asActivity<T>(
  ending: ShutdownSignals,
  work: (call: Call, progress: (details: object) => void) => Promise<T>,
): Promise<T> {
  const context = Context.current()
  let pages = 0
  let details: object | null = null
  const beat = () => context.heartbeat(details ?? { pages })
  const timer = setInterval(beat, (activityInfo().heartbeatTimeoutMs ?? 10_000) / HEARTBEATS)
  const onPage = () => {
    pages += 1
    beat()
  }
  try {
    const stopping = AbortSignal.any([context.cancellationSignal, ending.stopping])
    const progress = (now: object) => {
      details = now
      beat()
    }
    return await work({ signal: ending.aborted, stopping, onPage, onFinishing: progress }, progress)
  } catch (error) {
    throw asFailure(error)
  } finally {
    clearInterval(timer)
  }
}
