// The composition root: opens the resources of a run in order, and closes them in reverse.
import { randomUUID } from 'node:crypto'
import { openStores, type Stores } from './app/stores.ts'
import { createVendorClient } from './client/client.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config, WorkspaceConfig } from './config.ts'
import type { Origin } from './core/run-record.ts'
import { restrictUmask } from './files/durable.ts'
import type { StepsDependencies } from './steps/dependencies.ts'
import type { SpoolSteps } from './steps/events/drain.ts'
import { heldUntilMs } from './steps/export/lease-recovery.ts'
import type { Pending } from './steps/pending.ts'
import { openRunLog, type RunLog } from './steps/run-log.ts'
import { makeSteps, openPendingPages, type RunSteps } from './steps.ts'
import { expectTimeZones } from './warehouse/load/time-zone.ts'
import { openWarehouse, type Warehouse } from './warehouse/open.ts'
import type { QueryObserver, Questions } from './warehouse/query/http/handler.ts'
import { serveQueries } from './warehouse/query/http/socket-server.ts'
import { endKilledRuns } from './warehouse/runs.ts'
import { watchStatementsOf } from './warehouse/statements/watchdog.ts'
import { removeStaleCopies } from './warehouse/temporary-files.ts'

type Release = () => Promise<unknown> | unknown

/** Registers how to close a resource, and returns it. */
type Acquire = <R>(resource: R, release: (resource: R) => Promise<unknown> | unknown) => R

/** Opens resources one by one; if one fails, closes the earlier ones again, newest first. */
export async function withReleasers<T>(
  open: (acquire: Acquire) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const releases: Release[] = []
  const close = async () => {
    for (const release of releases.splice(0).reverse()) await release()
  }
  try {
    const opened = await open((resource, release) => {
      releases.push(() => release(resource))
      return resource
    })
    return { ...opened, close }
  } catch (error) {
    await close()
    throw error
  }
}

export interface AppOptions {
  config: Config
  /** Tunes DuckDB for a replay: the memory limit of replays, large batches. */
  bulk?: boolean
  /** Called when a query from the query socket starts, and when it ends. */
  onQuery?: QueryObserver
}

export interface App {
  warehouse: Warehouse
  stores: Stores
  /** Questions that the query socket answers besides queries. */
  questions: Questions
  /** Landed pages that are not loaded, by workspace. */
  pending: Map<string, Pending>
  /** Drain steps by workspace. */
  spools: Map<string, SpoolSteps>
  close(): Promise<void>
}

/** Opens the warehouse for writing, and answers its owner's queries until it is closed. @throws WAREHOUSE_LOCKED, WAREHOUSE_LAYOUT */
export function openApp({ config, bulk = false, onQuery }: AppOptions): Promise<App> {
  return withReleasers(async acquire => {
    const { home, threads } = config
    const memoryLimit = bulk ? config.replayMemoryLimit : config.memoryLimit
    restrictUmask()
    const begunMs = Date.now()
    const stores = openStores(home)
    const warehouse = acquire(await openWarehouse({ home, memoryLimit, threads, bulk }), opened => opened.close())
    watchStatementsOf({ home, memoryLimit })
    await expectTimeZones(warehouse.writer, config.workspaces)
    await removeStaleCopies(home, begunMs)
    // Disk errors are ignored here, because the caller meets and reports them again.
    for (const { workspaceId, record } of await endKilledRuns(warehouse.writer))
      await stores.landing
        .workspace(workspaceId)
        .noteRun(record, begunMs)
        .catch(() => {})
    const serving = await serveQueries({ home, instance: warehouse.instance, ...(onQuery && { onQuery }) })
    const { questions } = acquire(serving, server => server.close())
    return { warehouse, stores, questions, pending: new Map(), spools: new Map() }
  })
}

/** True if events of the workspace are being applied or were applied recently. */
export const eventsComeTo = ({ spools }: App, workspaceId: string): boolean =>
  spools.get(workspaceId)?.eventsCome() ?? false

interface RunOptions {
  config: Config
  workspace: WorkspaceConfig
  app: App
  /** Aborts requests in flight. */
  signal: AbortSignal
  /** Once aborted, requests in flight finish, and no more are sent. */
  stopping?: AbortSignal
  clock?: Clock
  onPage?: NonNullable<StepsDependencies['onPage']>
  onFinishing?: NonNullable<StepsDependencies['onFinishing']>
  /** True if other runs of this process may be working on the workspace, so that this one only plans. */
  beside?: boolean
}

export const newRunId = (): string => randomUUID().slice(0, 8)

/** Opens the log of a new run in this process. */
export function openLog(
  options: Pick<RunOptions, 'config' | 'workspace' | 'app' | 'clock'> & { origin?: Origin },
): RunLog {
  const { config, workspace, app, clock = systemClock, origin = 'sync' } = options
  const workspaceId = workspace.id
  const { warehouse, stores } = app
  const landing = stores.landing.workspace(workspaceId)
  return openRunLog({
    warehouse,
    landing,
    home: config.home,
    workspaceId,
    run: newRunId(),
    origin,
    host: 'embedded',
    now: clock.now,
  })
}

/** Returns landed pages that are not loaded: as the previous run of this process left them, or as the landing lists them. */
async function pendingIn(app: App, known: Parameters<typeof openPendingPages>[0]): Promise<Pending> {
  const kept = app.pending.get(known.workspaceId)
  if (kept && !kept.spoilt()) return kept
  const pending = await openPendingPages(known)
  app.pending.set(known.workspaceId, pending)
  return pending
}

/**
 * Opens a workspace's vendor client, lease log and landing. Reads the token; `run` names the lease log's file.
 * @throws TOKEN_MISSING, CONFIG_INVALID, HOME_UNUSABLE
 */
export async function openSource(
  acquire: Acquire,
  options: { stores: Stores; workspace: WorkspaceConfig; run: string; clock: Clock; signal: AbortSignal },
): Promise<Pick<StepsDependencies, 'workspaceId' | 'vendor' | 'leaseLog' | 'landing' | 'now'>> {
  const { stores, workspace, run, clock, signal } = options
  const { id: workspaceId, apiUrl, timeoutMs } = workspace
  const { now } = clock
  const vendor = acquire(
    createVendorClient({
      apiUrl,
      token: workspace.readToken(),
      rereadToken: workspace.readToken,
      proxy: workspace.readProxy(),
      timeoutMs,
      now,
      sleep: (ms, stop = signal) => clock.sleepUntil(now() + ms, stop),
    }),
    client => client.close(),
  )
  const leaseLog = acquire(stores.leaseLog({ workspaceId, run }), opened => opened.close())
  await stores.landing.reserve()
  await stores.landing.ensureId()
  return { workspaceId, vendor, leaseLog, landing: stores.landing.workspace(workspaceId), now }
}

/**
 * Opens the steps of one run of one workspace. `heldUntil`: until when workers of an earlier run may send requests, ms, or null.
 * @throws TOKEN_MISSING, CONFIG_INVALID, HOME_UNUSABLE
 */
export function openRun(
  options: RunOptions & { log?: RunLog },
): Promise<{ steps: RunSteps; run: string; heldUntil(): Promise<number | null>; close(): Promise<void> }> {
  const { config, workspace, app, signal, clock = systemClock, log = openLog(options), beside = false } = options
  const { run } = log
  return withReleasers(async acquire => {
    const { home } = config
    const source = await openSource(acquire, { stores: app.stores, workspace, run, clock, signal })
    const known = { ...source, warehouse: app.warehouse }
    const steps = makeSteps({
      ...known,
      home,
      run,
      log,
      pending: await (beside ? openPendingPages(known) : pendingIn(app, known)),
      beside,
      checks: config.checks,
      models: config.models,
      eventsCome: () => eventsComeTo(app, workspace.id),
      settings: workspace,
      signal,
      ...(options.stopping && { stopping: options.stopping }),
      ...(options.onPage && { onPage: options.onPage }),
      ...(options.onFinishing && { onFinishing: options.onFinishing }),
    })
    const heldUntil = () => heldUntilMs({ ...source, settings: workspace }, workspace.timeoutMs)
    return { steps, run, heldUntil }
  })
}
