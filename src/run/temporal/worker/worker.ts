// A Temporal worker: runs leases (`export`), or the workflows, planning and loading beside the warehouse (`warehouse`), or both.

import { hostname } from 'node:os'
import { Client } from '@temporalio/client'
import { type InjectedSinks, NativeConnection, Worker } from '@temporalio/worker'
import { exportQueue, warehouseQueue } from '../../../../workflows/activities.ts'
import type { AcceptedRequest } from '../../../../workflows/requests.ts'
import type { RunSinks } from '../../../../workflows/temporal/sinks.ts'
import { openStores } from '../../../app/stores.ts'
import { type TaskLogs, taskLogs } from '../../../app/warehouse-steps.ts'
import {
  landingDiffers,
  openWorkspaceContexts,
  type WorkspaceContexts,
  workspaceOf,
} from '../../../app/workspace-context.ts'
import { type App, newRunId } from '../../../app.ts'
import { systemClock } from '../../../clock.ts'
import type { Config } from '../../../config.ts'
import type { ConvohouseError } from '../../../core/errors.ts'
import { durationText } from '../../../core/time.ts'
import { holderOf } from '../../../steps/export/lease-recovery.ts'
import { publicationText, type RunningPublishing } from '../../publishing.ts'
import { workflowCode } from '../../workflow-code.ts'
import { POLLS_WITHIN_MS, pollersOf } from '../client/await-worker.ts'
import {
  expectNamespace,
  removePlace,
  settingsAt,
  storePlace,
  type TemporalPlace,
  unreachable,
} from '../client/connection.ts'
import { askForSync } from '../client/owner.ts'
import { scheduledSync } from '../client/schedules.ts'
import { errorOf } from '../failure.ts'
import { dataConverter } from '../payload-codec.ts'
import type { ShutdownSignals } from './activities.ts'
import { exportActivities, warehouseActivities } from './activities.ts'
import { ingestingTasks, startIngesting } from './drain.ts'
import { publishingTasks, startPublications } from './publish.ts'
import { type RunLines, runLines } from './run-log-lines.ts'

/** Connects a worker, and checks the namespace. @throws TEMPORAL_UNREACHABLE */
async function connectWorker(
  given: Partial<TemporalPlace> = {},
): Promise<{ connection: NativeConnection; place: TemporalPlace }> {
  const { connectionOptions, place } = settingsAt(given)
  let opened: NativeConnection | null = null
  try {
    opened = await NativeConnection.connect({ ...connectionOptions, address: place.address })
    await expectNamespace(opened, place)
    return { connection: opened, place }
  } catch (cause) {
    await opened?.close()
    throw unreachable(place, cause)
  }
}

/** Time limit for running tasks when a worker stops; then other workers take them over. */
const GRACE = '30 seconds'
/** The SDK's default, 8 s of a 10 s heartbeat timeout, would delay every cancellation by up to 8 s. */
const HEARTBEAT_THROTTLE = '1 second'
/** A cached workflow takes a few hundred KB; workflows beyond this number are replayed from their histories. */
const CACHED_WORKFLOWS = 200
/** Number of concurrent tasks. The warehouse's writer serialises loads, but several workspaces can be planned at once. */
const WAREHOUSE_TASKS = 8

/** `export` runs leases, `warehouse` runs workflows, planning and loading, `all` both. */
export type Role = 'export' | 'warehouse' | 'all'

export interface WorkerSettings {
  config: Config
  role: Role
  /** Overrides the server and namespace that Temporal's environment variables name. */
  place?: Partial<TemporalPlace>
  ending: ShutdownSignals
  /** Process of the command that runs leases, known to the process that holds the warehouse. */
  holder?: string
  /** Opens the warehouse; an export worker needs none. */
  openApp?(): Promise<App>
  /** Logs a line when publications to a target begin to fail and when they work again. */
  log?(line: string): void
  /** `log` also receives a line when a sync begins and when it ends. */
  logsSyncs?: boolean
  /** Called when the worker polls for tasks. */
  ready?(place: TemporalPlace): void
}

interface OpenWorker extends WorkerSettings {
  landingId: string
  connection: NativeConnection
  at: TemporalPlace
  contexts: WorkspaceContexts
}

const common = ({ connection, at, landingId }: OpenWorker) => ({
  connection,
  identity: identityOf(landingId),
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

const clientOf = ({ connection, at }: Pick<OpenWorker, 'connection' | 'at'>) =>
  new Client({ connection, namespace: at.namespace, dataConverter })

/** Requests a scheduled sync from a workspace's owner, over the worker's connection. */
function ownerRequester(holding: OpenWorker) {
  const { config } = holding
  const client = clientOf(holding)
  return async (workspaceId: string): Promise<AcceptedRequest> => {
    const request = scheduledSync(workspaceOf(config, workspaceId), systemClock.now())
    const { run, joined } = await askForSync(client, { queues: config.temporal.queues, request })
    return { run, joined }
  }
}

/** Sinks through which workflows report about their runs; the reports are recorded in the run log. */
function runSinks(logs: TaskLogs, lines: RunLines): InjectedSinks<RunSinks> {
  return {
    runs: {
      paused: { fn: (_info, workspaceId, run, paused) => logs({ workspaceId, run }).paused(paused) },
      gaveUp: {
        fn(_info, workspaceId, run, failure) {
          const error = errorOf(failure ?? CANCELLED)
          lines.gaveUp({ workspaceId, run }, error)
          return logs({ workspaceId, run }).gaveUp(error)
        },
      },
    },
  }
}

const CANCELLED = { code: 'INTERRUPTED', what: 'The sync was cancelled.', hint: null } as const

async function warehouseWorker(holding: OpenWorker, app: App): Promise<Worker> {
  const logs = taskLogs({ app, home: holding.config.home })
  const { log = () => {}, logsSyncs = false } = holding
  const lines = runLines(logsSyncs ? log : () => {}, log)
  const publicationFailing = (...news: Parameters<typeof publicationText>) => log(publicationText(...news))
  const askOwner = ownerRequester(holding)
  return Worker.create({
    ...common(holding),
    workflowBundle: await workflowCode(),
    taskQueue: warehouseQueue(holding.config.temporal.queues),
    activities: {
      ...warehouseActivities({ ...holding, app, logs, lines, askOwner, publicationFailing }),
    },
    sinks: runSinks(logs, lines),
    maxCachedWorkflows: CACHED_WORKFLOWS,
    maxConcurrentActivityTaskExecutions:
      WAREHOUSE_TASKS + ingestingTasks(holding.config) + publishingTasks(holding.config),
  })
}

/** Runs the workers until `stopping` aborts; if one fails, the others are shut down. */
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
  let publishing: RunningPublishing | null = null
  try {
    const workers = [
      ...(app ? [await warehouseWorker(holding, app)] : []),
      ...(role === 'warehouse' ? [] : [await exportWorker(holding)]),
    ]
    if (app) {
      const { config, log = () => {} } = holding
      await startIngesting(clientOf(holding), config)
      publishing = startPublications(clientOf(holding), { config, app, log })
      await storePlace(config.home, holding.at)
    }
    holding.ready?.(holding.at)
    await runAll(workers, ending)
  } finally {
    await publishing?.end()
    if (app) await removePlace(holding.config.home)
    await app?.close()
  }
}

/** Runs a worker until `ending.stopping` aborts. @throws TEMPORAL_UNREACHABLE, WAREHOUSE_LOCKED, LANDING_DIFFERS */
export async function runWorker(settings: WorkerSettings): Promise<void> {
  const { connection, place } = await connectWorker(settings.place)
  const { config, role, holder = role === 'all' ? holderOf(newRunId()) : undefined } = settings
  const refused = new AbortController()
  const contexts = openWorkspaceContexts({
    config,
    leaseMs: config.temporal.leaseMs,
    ...(holder !== undefined && { holder }),
    // An export worker with another landing ends. If two workers hold warehouses, neither can tell which is wrong.
    ...(role === 'export' && { refused: (error: ConvohouseError) => refused.abort(error) }),
  })
  const { stopping, aborted } = settings.ending
  const ending = { stopping: AbortSignal.any([stopping, refused.signal]), aborted }
  try {
    const landingId = await openStores(config.home).landing.ensureId()
    await expectOneLanding(clientOf({ connection, at: place }), config, landingId)
    await work({ ...settings, ending, landingId, connection, at: place, contexts })
  } finally {
    await contexts.close()
    await connection.close()
  }
  if (refused.signal.aborted && !stopping.aborted) throw refused.signal.reason
}

const ANNOUNCED = / landing (\S+)$/

/** Returns the identity of a worker of this process: `4711@host landing ID`. */
const identityOf = (landingId: string): string => `${process.pid}@${hostname()} landing ${landingId}`

/**
 * Refuses a worker if another one holds the warehouse of another landing. Where it cannot see the other one, which
 * starts at the same moment or which the server does not list, leases and loads are refused one by one.
 * @throws LANDING_DIFFERS
 */
async function expectOneLanding(
  client: Pick<Client, 'workflowService' | 'options'>,
  { home, temporal }: Config,
  landingId: string,
): Promise<void> {
  const queue = warehouseQueue(temporal.queues)
  const others = (await pollersOf(client, queue)) ?? []
  const other = others.find(identity => (ANNOUNCED.exec(identity)?.[1] ?? landingId) !== landingId)
  if (other === undefined) return
  const within = durationText(POLLS_WITHIN_MS)
  throw landingDiffers(home, landingId, `the worker ${other} polled ${queue} within the last ${within}`)
}
