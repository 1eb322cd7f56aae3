// An app on simulated time: a scene with an open warehouse, and one clock for app and sandbox.

import { spoolOf } from '../../../src/app/spool.ts'
import { type App, openApp, openRun } from '../../../src/app.ts'
import type { Config, WorkspaceConfig } from '../../../src/config.ts'
import { PLAIN_SYNC } from '../../../src/run/embedded.ts'
import type { ReplayReport } from '../../../src/run/rebuild.ts'
import { replay } from '../../../src/run/replay.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { Row } from '../../../src/warehouse/connection.ts'
import type { ProgressUpdate } from '../../../workflows/host.ts'
import { drainAll } from '../../../workflows/ingest.ts'
import type { Steps, SyncReport, SyncRequest } from '../../../workflows/steps.ts'
import { syncWorkspace } from '../../../workflows/sync.ts'
import { NO_REFRESH, openScene, type SceneRequests, STILL } from '../../scene.ts'
import { detachWithLog } from '../../warehouse/temporary-warehouse.ts'
import { simulatedHost, timed } from './simulated-host.ts'
import { type SimulatedTime, simulatedTime } from './simulated-time.ts'

export { START_MS, TOKEN, WORKSPACE } from '../../scene.ts'

/** Simulated duration of a load. It is short, because pages that the window loops fetch during a load wait for the next one. */
const LOAD_MS = 1

type Asked = Partial<Omit<SyncRequest, 'run' | 'workspaceId'>>

export interface SimulatedApp extends SceneRequests {
  sandbox: Sandbox
  config: Config
  app: App
  clock: SimulatedTime
  /** Progress updates of the last sync. */
  updates: ProgressUpdate[]
  sync(asked?: Asked, signal?: AbortSignal): Promise<SyncReport>
  /** Applies the events in the spool. */
  drain(): Promise<void>
  rows<R = Row>(sql: string): Promise<R[]>
  advance(ms: number): void
  /** Closes and reopens the warehouse, as if one process ended and another one started. */
  restart(): Promise<void>
  /** Rebuilds the warehouse from the landing and reopens it. */
  replay(): Promise<ReplayReport>
  /** Closes the warehouse. */
  close(): Promise<void>
}

export interface SimulatedAppOptions {
  sandbox?: Partial<SandboxOptions>
  /** Settings of the workspace. By default, its syncs request only agents and conversations; see `resources: RESOURCE_NAMES`. */
  settings?: Partial<WorkspaceConfig>
  /** Starts a proxy between the app and the sandbox; returns its URL. */
  through?: (sandbox: Sandbox) => Promise<string>
  /** Uses an existing sandbox instead of a new one. */
  at?: Sandbox
  /** Uses an existing data folder, which the caller removes. */
  home?: string
  /** Uses an existing app, with another workspace; the test that opened that app closes it. */
  beside?: { app: App; home: string; workspaceId: string }
  /** Simulated duration of each load. During a longer one more pages land, so fewer loads run. Default: 1 ms. */
  loadMs?: number
}

/**
 * Closes an app whose data folder is about to be removed. Its warehouse is detached first, because the checkpoint of a
 * regular close takes more time than opening a warehouse.
 */
async function discard(app: App): Promise<void> {
  const { writer } = app.warehouse
  // A warehouse that cannot be detached, because the test has broken it, is closed with a checkpoint.
  await writer.exclusively(() => detachWithLog(writer)).catch(() => {})
  await app.close()
}

/** Opens an app on simulated time. The caller must call `end`, which closes everything and removes the folder. */
export async function openSimulatedApp(
  options: SimulatedAppOptions = {},
): Promise<{ simulated: SimulatedApp; end(): Promise<void> }> {
  const { beside } = options
  const scene = await openScene({
    sandbox: { ...STILL, conversations: 200, ...options.sandbox },
    workspace: NO_REFRESH,
    // The other resources account for nine of ten requests of a small first sync, and half of its CPU time.
    settings: { resources: [], ...options.settings },
    at: options.at,
    through: options.through,
    home: beside?.home ?? options.home,
    workspaceId: beside?.workspaceId,
  })
  const { sandbox, config, served, exported, usage } = scene
  let app = beside?.app ?? (await openApp({ config }))
  let open = beside === undefined
  const close = async () => {
    if (open) await app.close()
    open = false
  }
  const end = async () => {
    if (open) await discard(app)
    open = false
    await scene.close()
  }
  const clock = simulatedTime(sandbox.clock)

  const simulated: SimulatedApp = {
    sandbox,
    config,
    app,
    clock,
    updates: [],
    async sync(asked = {}, signal = new AbortController().signal) {
      simulated.updates = []
      const workspace = config.workspaces[0]!
      const { run, steps, close: closeRun } = await openRun({ config, workspace, app, signal, clock: clock.within })
      const host = simulatedHost(clock, { signal, notify: update => simulated.updates.push(update) })
      const request = { ...PLAIN_SYNC, ...asked, run, workspaceId: workspace.id }
      const load: Steps['load'] = async input => {
        await clock.within.sleepUntil(clock.now() + (options.loadMs ?? LOAD_MS), signal).catch(() => {})
        return steps.load(input)
      }
      return syncWorkspace(timed({ ...steps, load }, clock), host, request).finally(closeRun)
    },
    drain() {
      const workspace = config.workspaces[0]!
      return drainAll(spoolOf({ app, home: config.home, workspace, now: clock.now }), workspace.id)
    },
    rows: sql => app.warehouse.writer.rows(sql),
    served,
    exported,
    usage,
    advance: ms => sandbox.clock.advance(ms),
    async restart() {
      await app.close()
      app = await openApp({ config })
      open = true
      simulated.app = app
    },
    async replay() {
      await app.close()
      const report = await replay({ config })
      app = await openApp({ config })
      simulated.app = app
      return report
    },
    close,
  }
  return { simulated, end }
}
