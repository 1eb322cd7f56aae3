// A house and the sandbox that it exports from, over real HTTP, real files and a real DuckDB, on one simulated clock.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, openApp, openRun } from '../../src/app.ts'
import { type Config, readConfig, type WorkspaceConfig } from '../../src/config.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import type { ReplayReport } from '../../src/run/rebuild.ts'
import { replay } from '../../src/run/replay.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import type { ProgressUpdate } from '../../workflows/host.ts'
import type { Steps, SyncReport, SyncRequest } from '../../workflows/steps.ts'
import { syncWorkspace } from '../../workflows/sync.ts'
import { isProbe } from './probe.ts'
import { simulatedHost, timed } from './simulated-host.ts'
import { type SimulatedTime, simulatedTime } from './simulated-time.ts'

export const START_MS = Date.UTC(2026, 5, 1, 12)
export const TOKEN = 'sandbox-token-9f3a'
export const WORKSPACE = 'ws_demo'

/** Others read on while one loads: a load costs more than what it loads. */
const LOAD_MS = 1

type Asked = Partial<Omit<SyncRequest, 'run' | 'workspaceId'>>

export interface SimulatedApp {
  sandbox: Sandbox
  config: Config
  app: App
  clock: SimulatedTime
  /** What the last sync told. */
  news: ProgressUpdate[]
  sync(asked?: Asked, signal?: AbortSignal): Promise<SyncReport>
  /** Syncs so many times, `everyMs` apart, by one and the same runner. */
  polls(options: { count: number; everyMs: number; each(report: SyncReport): void }): Promise<void>
  rows<R = Row>(sql: string): Promise<R[]>
  /** Export requests that the sandbox has served, probes apart. */
  bought(): Promise<ServedRequest[]>
  /** All export requests. */
  served(): Promise<ServedRequest[]>
  usage(): Promise<{ overagePacksCharged: number; overageUsedThisPeriod: number; billableUsedThisPeriod: number }>
  advance(ms: number): void
  /** Closes the warehouse and opens it anew, as a process that ends and another that begins. */
  restart(): Promise<void>
  /** Rebuilds the warehouse from the landing, and opens it anew. */
  replay(): Promise<ReplayReport>
  /** Closes the warehouse. */
  close(): Promise<void>
}

export interface SimulatedAppOptions {
  sandbox?: Partial<SandboxOptions>
  settings?: Partial<WorkspaceConfig>
  /** What stands between the house and the sandbox. */
  through?: (sandbox: Sandbox) => Promise<string>
  /** A sandbox that is there already. */
  at?: Sandbox
  /** A house that is there already, for a workspace of its own in it; it is closed by whoever opened it. */
  beside?: { app: App; home: string; workspaceId: string }
  /** How long each load takes, simulated: meanwhile more lands, and there are fewer of them. Default: a moment. */
  loadMs?: number
}

/** A sandbox whose clock stands still until somebody sleeps. */
const openStillSandbox = (options: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  startSandbox({ port: 0, token: TOKEN, startMs: START_MS, speed: 0, conversations: 200, ...options })

interface Place {
  home: string
  url: string
  /** The workspace's. */
  id: string
}

function configOf({ home, url, id }: Place, settings: Partial<WorkspaceConfig>): Config {
  const env = {
    CONVOHOUSE_API_URL: url,
    CONVOHOUSE_API_TOKEN: TOKEN,
    CONVOHOUSE_WORKSPACE: id,
    CONVOHOUSE_HOME: home,
  }
  const config = readConfig({ env })
  // What is read again on purpose would blur what a test counts, unless that is what it tests.
  const nothingAgain = { rereadShare: 0, sampleShare: 0 }
  // One thread: the tests run side by side.
  return { ...config, threads: 1, workspaces: [{ ...config.workspaces[0]!, ...nothingAgain, ...settings }] }
}

/** A house without a workspace of its own: those that share it are opened `beside` it. */
export async function emptyApp(): Promise<{ home: string; app: App; close(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  const app = await openApp({ config: configOf({ home, url: 'http://127.0.0.1', id: WORKSPACE }, {}) })
  const close = async () => {
    await app.close()
    await rm(home, { recursive: true })
  }
  return { home, app, close }
}

/** Whoever opens it calls `end` when it is done with: all that was opened for it is closed, and its folder removed. */
export async function openSimulatedApp(
  options: SimulatedAppOptions = {},
): Promise<{ simulated: SimulatedApp; end(): Promise<void> }> {
  const { beside } = options
  const id = beside?.workspaceId ?? WORKSPACE
  const sandbox = options.at ?? (await openStillSandbox({ workspaceId: id, ...options.sandbox }))
  const home = beside?.home ?? (await mkdtemp(join(tmpdir(), 'convohouse-')))
  const url = (await options.through?.(sandbox)) ?? sandbox.url
  const config = configOf({ home, url, id }, options.settings ?? {})
  let app = beside?.app ?? (await openApp({ config }))
  let open = beside === undefined
  const close = async () => {
    if (open) await app.close()
    open = false
  }
  const end = async () => {
    await close()
    if (!beside) await rm(home, { recursive: true })
    if (!options.at) await sandbox.close()
  }
  const clock = simulatedTime(sandbox.clock)
  const door = async <T>(path: string) => (await (await fetch(`${sandbox.url}/_sandbox/${path}`)).json()) as T
  const served = async () => (await door<{ requests: ServedRequest[] }>('requests?kind=export')).requests

  const simulated: SimulatedApp = {
    sandbox,
    config,
    app,
    clock,
    news: [],
    async sync(asked = {}, signal = new AbortController().signal) {
      simulated.news = []
      const workspace = config.workspaces[0]!
      const { run, steps, close: closeRun } = await openRun({ config, workspace, app, signal, clock: clock.within })
      const host = simulatedHost(clock, { signal, tell: news => simulated.news.push(news) })
      const request = { ...PLAIN_SYNC, ...asked, run, workspaceId: workspace.id }
      const load: Steps['load'] = async input => {
        await clock.within.sleepUntil(clock.now() + (options.loadMs ?? LOAD_MS), signal).catch(() => {})
        return steps.load(input)
      }
      return syncWorkspace(timed({ ...steps, load }, clock), host, request).finally(closeRun)
    },
    async polls({ count, everyMs, each }) {
      const signal = new AbortController().signal
      const workspace = config.workspaces[0]!
      const { run, steps, close: closeRun } = await openRun({ config, workspace, app, signal, clock: clock.within })
      const host = simulatedHost(clock, { signal, tell: () => {} })
      for (let poll = 0; poll < count; poll++) {
        sandbox.clock.advance(everyMs)
        each(await syncWorkspace(steps, host, { ...PLAIN_SYNC, run, workspaceId: workspace.id }))
      }
      await closeRun()
    },
    rows: sql => app.warehouse.writer.rows(sql),
    served,
    bought: async () => (await served()).filter(request => !isProbe(request)),
    usage: async () => (await door<{ usage: Awaited<ReturnType<SimulatedApp['usage']>> }>('state')).usage,
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
