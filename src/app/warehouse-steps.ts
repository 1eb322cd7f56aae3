// The steps of whoever holds the warehouse, where others fetch: what has landed is read from the landing.

import type { RunOf, Steps } from '../../workflows/steps.ts'
import { eventsComeTo, type House } from '../app.ts'
import { systemClock } from '../clock.ts'
import type { Origin } from '../core/run-record.ts'
import { openLanding } from '../landing/store.ts'
import type { Call, Station } from '../steps/export-steps.ts'
import type { Pending } from '../steps/pending.ts'
import { openRunLog, type RunLog } from '../steps/run-log.ts'
import { A_LOAD, makeSteps, pendingOf } from '../steps.ts'

/** As it was read before, where there is a batch in it; else the landing is looked at again: others land. */
async function pendingNow(house: House, station: Station): Promise<Pending> {
  const { workspaceId } = station
  const kept = house.pending.get(workspaceId)
  if (kept && !kept.spoilt() && kept.all().length >= A_LOAD.count) return kept
  const pending = await pendingOf({ ...station, warehouse: house.warehouse })
  house.pending.set(workspaceId, pending)
  return pending
}

/** The log of a run of which a task does a part; `origin` is known where the run begins. */
export type TaskLogs = (of: RunOf & { origin?: Origin }) => RunLog

export const taskLogs =
  ({ house, home }: { house: House; home: string }): TaskLogs =>
  ({ workspaceId, run, origin }) =>
    openRunLog({
      warehouse: house.warehouse,
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
  house: House
  home: string
  station: Station
  run: string
  call: Call
}): Promise<Pick<Steps, 'prepare' | 'load' | 'finish'>> {
  const { house, home, station, run, call } = options
  const pending = await pendingNow(house, station)
  const { prepare, load, finish } = makeSteps({
    ...station,
    ...call,
    warehouse: house.warehouse,
    home,
    run,
    log: taskLogs({ house, home })({ workspaceId: station.workspaceId, run }),
    pending,
    eventsCome: () => eventsComeTo(house, station.workspaceId),
  })
  return { prepare, load, finish }
}
