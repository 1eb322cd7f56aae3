// The steps of whoever holds the warehouse, where others fetch: what has landed is read from the landing.

import type { RunRef, Steps } from '../../workflows/steps.ts'
import { type App, eventsComeTo } from '../app.ts'
import { systemClock } from '../clock.ts'
import type { Origin } from '../core/run-record.ts'
import { openLanding } from '../landing/folder-landing.ts'
import type { Call, WorkspaceContext } from '../steps/export-steps.ts'
import type { Pending } from '../steps/pending.ts'
import { openRunLog, type RunLog } from '../steps/run-log.ts'
import { A_LOAD, makeSteps, pendingOf } from '../steps.ts'

/** As it was read before, where there is a batch in it; else the landing is looked at again: others land. */
async function pendingNow(app: App, workspaceContext: WorkspaceContext): Promise<Pending> {
  const { workspaceId } = workspaceContext
  const kept = app.pending.get(workspaceId)
  if (kept && !kept.spoilt() && kept.all().length >= A_LOAD.count) return kept
  const pending = await pendingOf({ ...workspaceContext, warehouse: app.warehouse })
  app.pending.set(workspaceId, pending)
  return pending
}

/** The log of a run of which a task does a part; `origin` is known where the run begins. */
export type TaskLogs = (of: RunRef & { origin?: Origin }) => RunLog

export const taskLogs =
  ({ app, home }: { app: App; home: string }): TaskLogs =>
  ({ workspaceId, run, origin }) =>
    openRunLog({
      warehouse: app.warehouse,
      landing: openLanding(home, workspaceId),
      home,
      workspaceId,
      run,
      ...(origin && { origin }),
      host: 'temporal',
      now: systemClock.now,
    })

/** The steps of one task of one run. */
export async function warehouseSteps(options: {
  app: App
  home: string
  workspaceContext: WorkspaceContext
  run: string
  call: Call
}): Promise<Pick<Steps, 'prepare' | 'load' | 'finish'>> {
  const { app, home, workspaceContext, run, call } = options
  const pending = await pendingNow(app, workspaceContext)
  const { prepare, load, finish } = makeSteps({
    ...workspaceContext,
    ...call,
    warehouse: app.warehouse,
    home,
    run,
    log: taskLogs({ app, home })({ workspaceId: workspaceContext.workspaceId, run }),
    pending,
    eventsCome: () => eventsComeTo(app, workspaceContext.workspaceId),
  })
  return { prepare, load, finish }
}
