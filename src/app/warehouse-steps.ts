// The steps of a worker that holds the warehouse while other workers fetch pages: it finds landed pages by listing the landing.
import type { RunRef, Steps } from '../../workflows/steps.ts'
import { type App, eventsComeTo } from '../app.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Origin } from '../core/run-record.ts'
import type { Call, WorkspaceContext } from '../steps/export/export-steps.ts'
import type { Pending } from '../steps/pending.ts'
import { openRunLog, type RunLog } from '../steps/run-log.ts'
import { LOAD_BATCH, makeSteps, openPendingPages } from '../steps.ts'

/** Returns landed pages that are not loaded. Lists the landing unless a full batch is known: other workers land pages. */
async function pendingNow(app: App, workspaceContext: WorkspaceContext): Promise<Pending> {
  const { workspaceId } = workspaceContext
  const kept = app.pending.get(workspaceId)
  if (kept && !kept.spoilt() && kept.all().length >= LOAD_BATCH.count) return kept
  const pending = await openPendingPages({ ...workspaceContext, warehouse: app.warehouse })
  app.pending.set(workspaceId, pending)
  return pending
}

/** Opens the run log for one task of a run; `origin` is known only where the run begins. */
export type TaskLogs = (of: RunRef & { origin?: Origin }) => RunLog

export const taskLogs =
  ({ app, home }: { app: App; home: string }): TaskLogs =>
  ({ workspaceId, run, origin }) =>
    openRunLog({
      warehouse: app.warehouse,
      landing: app.stores.landing.workspace(workspaceId),
      home,
      workspaceId,
      run,
      ...(origin && { origin }),
      host: 'temporal',
      now: systemClock.now,
    })

/** Returns the steps of one task of one run. */
export async function warehouseSteps(options: {
  app: App
  config: Pick<Config, 'home' | 'checks' | 'models'>
  workspaceContext: WorkspaceContext
  run: string
  call: Call
}): Promise<Pick<Steps, 'prepare' | 'load' | 'finish'>> {
  const { app, config, workspaceContext, run, call } = options
  const { home, checks, models } = config
  const pending = await pendingNow(app, workspaceContext)
  const { prepare, load, finish } = makeSteps({
    ...workspaceContext,
    ...call,
    warehouse: app.warehouse,
    home,
    run,
    log: taskLogs({ app, home })({ workspaceId: workspaceContext.workspaceId, run }),
    pending,
    checks,
    models,
    eventsCome: () => eventsComeTo(app, workspaceContext.workspaceId),
  })
  return { prepare, load, finish }
}
