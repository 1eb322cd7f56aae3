// The activities: the steps as workers do them, by role. Made over what the worker holds; workflows import their types alone.
import { Context } from '@temporalio/activity'
import type { ExportActivities, WarehouseActivities } from '../../../workflows/activities.ts'
import type { DrainFailing } from '../../../workflows/ingest.ts'
import type { RunOf } from '../../../workflows/steps.ts'
import type { Stations } from '../../app/stations.ts'
import { warehouseSteps } from '../../app/warehouse-steps.ts'
import type { House } from '../../app.ts'
import type { Config } from '../../config.ts'
import { asActivity, type Ending } from './call.ts'
import { drainForAWhile } from './drain.ts'

export function exportActivities(stations: Stations, ending: Ending): ExportActivities {
  const at = async (request: RunOf) => (await stations.of(request.workspaceId)).steps
  return {
    fetchPages: input => asActivity(ending, async call => (await at(input.request)).fetchPages(input, call)),
    probe: input => asActivity(ending, async call => (await at(input.request)).probe(input, call)),
    takeStock: input => asActivity(ending, async call => (await at(input.request)).takeStock(input, call)),
  }
}

export function warehouseActivities(options: {
  stations: Stations
  house: House
  config: Config
  ending: Ending
  askOwner: WarehouseActivitiesAsk
}): WarehouseActivities {
  const { stations, house, config, ending, askOwner } = options
  const { home } = config
  const stepsFor = <T>({ workspaceId, run }: RunOf, work: (steps: WarehouseSteps) => Promise<T>): Promise<T> =>
    asActivity(ending, async call => {
      const { station } = await stations.of(workspaceId)
      return work(await warehouseSteps({ house, home, station, run, call }))
    })
  return {
    heldUntil: ({ workspaceId }) =>
      asActivity(ending, async () => (await stations.of(workspaceId)).steps.heldUntilMs()),
    prepare: request =>
      stepsFor(request, async ({ prepare }) => {
        const { station } = await stations.of(request.workspaceId)
        // Titles are for people who look on; a history is no place for them.
        return { ...(await prepare(request)), agents: [], timeoutMs: station.timeoutMs }
      }),
    ask: ({ workspaceId }) => asActivity(ending, () => askOwner(workspaceId)),
    load: run => stepsFor(run, ({ load }) => load({ workspaceId: run.workspaceId })),
    drain: ({ workspaceId }) =>
      asActivity(ending, ({ stopping = ending.stopping }) =>
        drainForAWhile({ config, house, workspaceId, stopping, failing: logFailing }),
      ),
    finish: input => stepsFor(input.request, ({ finish }) => finish(input)),
  }
}

/** In the worker's log, under the workflow's id. */
function logFailing(failure: DrainFailing): void {
  const { log } = Context.current()
  if (failure === null) log.warn('webhook events are applied again')
  else log.warn(`webhook events wait in the spool, and are tried again until they can be applied: ${failure.what}`)
}

type WarehouseActivitiesAsk = (workspaceId: string) => ReturnType<WarehouseActivities['ask']>
type WarehouseSteps = Awaited<ReturnType<typeof warehouseSteps>>
