// A worker of the house: takes leases (`export`), or plans, loads and runs the workflows beside the warehouse (`warehouse`), or both.
import { Client } from '@temporalio/client'
import { type InjectedSinks, type NativeConnection, Worker } from '@temporalio/worker'
import { exportQueue, warehouseQueue } from '../../../../workflows/activities.ts'
import type { AcceptedRequest } from '../../../../workflows/requests.ts'
import type { Failure } from '../../../../workflows/steps.ts'
import type { RunSinks } from '../../../../workflows/temporal/sinks.ts'
import { type TaskLogs, taskLogs } from '../../../app/warehouse-steps.ts'
import { openWorkspaceContexts, type WorkspaceContexts, workspaceOf } from '../../../app/workspace-context.ts'
import { type App, newRunId } from '../../../app.ts'
import { systemClock } from '../../../clock.ts'
import type { Config } from '../../../config.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { workflowCode } from '../../workflow-code.ts'
import type { TemporalPlace } from '../client/connection.ts'
import { askForSync } from '../client/owner.ts'
import { scheduledSync } from '../client/schedules.ts'
import { dataConverter } from '../payload-codec.ts'
import { exportActivities, warehouseActivities } from './activities.ts'
import type { ShutdownSignals } from './activity-call.ts'
import { ingestingTasks, startIngesting } from './drain.ts'
import type { Role } from './role.ts'
import { type RunLines, runLines } from './run-log-lines.ts'
import { connectWorker } from './worker-connection.ts'

/** What was asked for after this is left to other workers. */
const GRACE = '30 seconds'
/** The SDK's own, 8 of the 10 seconds after which a worker is thought dead, would delay each cancellation by as much. */
const HEARTBEAT_THROTTLE = '1 second'
/** Each holds a few hundred KB; of more workspaces than these, histories are replayed. */
const CACHED_WORKFLOWS = 200
/** Loads take turns at the warehouse's writer; planning several workspaces at once is of use. */
const WAREHOUSE_TASKS = 8

export interface WorkerSettings {
  config: Config
  role: Role
  /** Otherwise than Temporal's own variables say. */
  place?: Partial<TemporalPlace>
  ending: ShutdownSignals
  /** Shared by the processes of one command: one uses leases, another holds the warehouse. */
  holder?: string
  /** Opens the warehouse; an export worker needs none. */
  openApp?(): Promise<App>
  /** Told when a sync begins and ends, in a line each. */
  tell?(line: string): void
  /** Told when tasks are taken. */
  ready?(place: TemporalPlace): void
}

interface OpenWorker extends WorkerSettings {
  connection: NativeConnection
  at: TemporalPlace
  contexts: WorkspaceContexts
}

const common = ({ connection, at }: OpenWorker) => ({
  connection,
  namespace: at.namespace,
  shutdownGraceTime: GRACE,
  maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
  dataConverter,
})

const exportWorker = (holding: OpenWorker): Promise<Worker> =>
  Worker.create({
    ...common(holding),
    taskQueue: exportQueue(holding.config.temporal.queues),
    activities: { ...exportActivities(holding.contexts, holding.ending, clientOf(holding)) },
    tuner: {
      tunerOptions: { targetMemoryUsage: 0.8, targetCpuUsage: 0.9 },
      activityTaskSlotOptions: { minimumSlots: 8, maximumSlots: 100, rampThrottle: '50ms' },
    },
  })

const clientOf = ({ connection, at }: OpenWorker) => new Client({ connection, namespace: at.namespace, dataConverter })

/** Asks a workspace's owner for what the configuration says, over the worker's own connection. */
function ownerRequester(holding: OpenWorker) {
  const { config } = holding
  const client = clientOf(holding)
  return async (workspaceId: string): Promise<AcceptedRequest> => {
    const request = scheduledSync(workspaceOf(config, workspaceId), systemClock.now())
    const { run, joined } = await askForSync(client, { queues: config.temporal.queues, request })
    return { run, joined }
  }
}

/** What workflows tell of their runs, written down. */
function runSinks(logs: TaskLogs, lines: RunLines): InjectedSinks<RunSinks> {
  return {
    runs: {
      paused: { fn: (_info, workspaceId, run, paused) => logs({ workspaceId, run }).paused(paused) },
      gaveUp: {
        fn(_info, workspaceId, run, failure) {
          lines.gaveUp({ workspaceId, run }, errorOf(failure))
          return logs({ workspaceId, run }).gaveUp(errorOf(failure))
        },
      },
    },
  }
}

const errorOf = (failure: Failure | null): ConvohouseError => {
  const { code, what, hint } = failure ?? { code: 'INTERRUPTED', what: 'The sync was cancelled.', hint: null }
  return new ConvohouseError(code, { what, ...(hint && { hint }) })
}

async function warehouseWorker(holding: OpenWorker, app: App): Promise<Worker> {
  const logs = taskLogs({ app, home: holding.config.home })
  const lines = runLines(holding.tell ?? (() => {}))
  return Worker.create({
    ...common(holding),
    workflowBundle: await workflowCode(),
    taskQueue: warehouseQueue(holding.config.temporal.queues),
    activities: {
      ...warehouseActivities({ ...holding, app, logs, lines, askOwner: ownerRequester(holding) }),
    },
    sinks: runSinks(logs, lines),
    maxCachedWorkflows: CACHED_WORKFLOWS,
    maxConcurrentActivityTaskExecutions: WAREHOUSE_TASKS + ingestingTasks(holding.config),
  })
}

/** Runs them until they are told to end; where one of them fails, the other ends too. */
async function runAll(workers: readonly Worker[], { stopping }: ShutdownSignals): Promise<void> {
  const end = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const running = workers.map(worker => worker.run().finally(end))
  stopping.addEventListener('abort', end, { once: true })
  if (stopping.aborted) end()
  try {
    await Promise.all(running)
  } finally {
    await Promise.allSettled(running)
    stopping.removeEventListener('abort', end)
  }
}

async function work(holding: OpenWorker): Promise<void> {
  const { role, ending } = holding
  const app = role === 'export' ? null : await holding.openApp!()
  try {
    const workers = [
      ...(app ? [await warehouseWorker(holding, app)] : []),
      ...(role === 'warehouse' ? [] : [await exportWorker(holding)]),
    ]
    if (app) await startIngesting(clientOf(holding), holding.config)
    holding.ready?.(holding.at)
    await runAll(workers, ending)
  } finally {
    await app?.close()
  }
}

/** Works until told to end. @throws TEMPORAL_UNREACHABLE, WAREHOUSE_LOCKED */
export async function runWorker(settings: WorkerSettings): Promise<void> {
  const { connection, place } = await connectWorker(settings.place)
  const { config, role, holder = role === 'all' ? newRunId() : undefined } = settings
  const contexts = openWorkspaceContexts({
    config,
    leaseMs: config.temporal.leaseMs,
    ...(holder !== undefined && { holder }),
  })
  try {
    await work({ ...settings, connection, at: place, contexts })
  } finally {
    await contexts.close()
    await connection.close()
  }
}
