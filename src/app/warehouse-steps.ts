// The steps of whoever holds the warehouse, where others fetch: what has landed is read from the landing.

import type { Steps } from '../../workflows/steps.ts'
import { eventsComeTo, type House } from '../app.ts'
import type { Call, Station } from '../steps/apart.ts'
import type { Pending } from '../steps/pending.ts'
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
    pending,
    eventsCome: () => eventsComeTo(house, station.workspaceId),
  })
  return { prepare, load, finish }
}
