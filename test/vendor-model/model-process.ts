// One of our processes on the model's clock: the embedded host and the steps of one sync, with a landing, a lease log
// and facts in memory. It may die at any operation; durable data remains.

import { createVendorClient } from '../../src/client/client.ts'
import { endOf } from '../../src/core/run-record.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { newCircuitBreaker } from '../../src/steps/dependencies.ts'
import { fetchPages, probe } from '../../src/steps/export/fetch.ts'
import { openPending } from '../../src/steps/pending.ts'
import type { Planning } from '../../src/steps/planning/facts.ts'
import { prepare } from '../../src/steps/planning/prepare.ts'
import { openServerClock } from '../../src/steps/server-clock.ts'
import type { Host, ProgressUpdate } from '../../workflows/host.ts'
import type { Steps, SyncRequest } from '../../workflows/steps.ts'
import { syncWorkspace } from '../../workflows/sync.ts'
import { drawsOf } from './draws.ts'
import type { Step, SyncOutcome, World } from './history.ts'
import { memoryFacts, missingNow } from './memory-facts.ts'
import { memoryLanding, memoryLeaseLog, type StoredPage } from './memory-landing.ts'
import { modelTransport } from './model-transport.ts'

/** Maximum number of requests of a run: a run with more is stopped and reported as endless. */
const MAX_REQUESTS = 1_600
const MAX_RUN_MS = 15 * DAY

const never = (): Promise<never> => new Promise(() => {})

interface ModelProcess {
  dead: boolean
  isRunaway: boolean
  now(): number
  mayDie(): Promise<void>
  /** Resolves when the process dies. */
  died: Promise<void>
}

function startProcess(world: World, killAt: number | undefined): ModelProcess {
  const { clock, transport } = world
  const beganMs = clock.now()
  const sentBefore = transport.log.length
  let operations = 0
  let aheadMs = world.aheadMs
  let die = (): void => {}
  const process: ModelProcess = {
    dead: false,
    isRunaway: false,
    // Like the clock of the hosts, it never goes back while the process lives.
    now() {
      aheadMs = Math.max(aheadMs, world.aheadMs)
      return clock.now() + aheadMs
    },
    async mayDie() {
      operations += 1
      process.isRunaway ||= transport.log.length - sentBefore > MAX_REQUESTS || clock.now() - beganMs > MAX_RUN_MS
      if (operations === killAt || process.isRunaway) {
        process.dead = true
        die()
      }
      if (process.dead) await never()
    },
    died: new Promise(resolve => {
      die = resolve
    }),
  }
  return process
}

/** Returns the default settings of a workspace, with those of the history. */
function settingsOf({ history }: World): Planning['settings'] {
  return {
    ...{ organizations: [], customMetrics: {}, crawlerPages: {}, keepsCrawlerBodies: false, resources: [] },
    ...{ timeZone: 'UTC', settleMs: 2 * MINUTE, mirrorLagMs: 2 * MINUTE, requestsPerHour: 1_500, hourMs: HOUR },
    ...{ hourReserveShare: 0.02, headReserveShare: history.headReserve ?? null, maxPage: history.maxPage ?? 100 },
    ...{ quietMs: DAY, refreshOn: 'change', rereadHorizonMs: 7 * DAY, rereadShare: 0.02, sampleShare: 0.002 },
    ...history.settings,
  }
}

const inLoadOrder = (a: StoredPage, b: StoredPage): number =>
  a.window < b.window ? -1 : a.window > b.window ? 1 : a.generation - b.generation || a.sequence - b.sequence

function openPlanning(world: World, process: ModelProcess, run: string): Planning {
  const { clock, store, warehouse, transport } = world
  const { now, mayDie } = process
  const wait = (ms: number) => clock.sleepUntil(clock.now() + ms, process)
  const draws = drawsOf(transport.sync)
  const unloaded = [...store.pages.values()].filter(({ address }) => !warehouse.loaded.has(address)).sort(inLoadOrder)
  return {
    workspaceId: store.workspaceId,
    vendor: createVendorClient({
      apiUrl: 'http://vendor.test',
      token: 'token',
      now,
      sleep: wait,
      random: draws.fraction,
      transport: modelTransport(transport, { now, wait, mayDie, trueNow: clock.now }),
    }),
    landing: memoryLanding(store, mayDie),
    leaseLog: memoryLeaseLog(store, mayDie),
    settings: settingsOf(world),
    holder: run,
    now,
    signal: new AbortController().signal,
    run,
    clock: openServerClock(),
    breaker: newCircuitBreaker(),
    pending: openPending({ pages: unloaded, loaded: warehouse.loaded }),
    facts: memoryFacts(warehouse, store),
  }
}

const BATCH = { count: 100, bytes: 80 * 1024 * 1024 }

function stepsOf(world: World, process: ModelProcess, planning: Planning): Steps {
  const { clock, store, warehouse } = world
  const { pending } = planning
  const loadPages = (pages: readonly { address: string }[]) =>
    warehouse.load(pages.map(({ address }) => store.pages.get(address)!))
  function loadNext() {
    const pages = pending.next(BATCH)
    loadPages(pages)
    pending.taken(pages)
    return { pages: pages.length, records: pages.length, waiting: pending.all().length }
  }
  return {
    async prepare(request) {
      while (request.refresh && pending.all().length > 0) loadNext()
      return { ...(await prepare(planning, request)), ...missingNow(warehouse, process.now()) }
    },
    fetchPages: ({ progress, grant }) => fetchPages(planning, progress, grant),
    probe: ({ agentId, grant }) => probe(planning, agentId, grant),
    async load() {
      await process.mayDie()
      await clock.sleepUntil(clock.now() + 1, process)
      return loadNext()
    },
    async finish({ report }) {
      const listings = pending.all().filter(({ head }) => head.place.stream === 'agents')
      loadPages(listings)
      pending.taken(listings)
      const endedMs = process.now()
      for (const left of endOf(report).agentsLeft ?? []) warehouse.agentsLeft.push({ ...left, endedMs })
      return { quarantined: 0, refused: 0, ...missingNow(warehouse, endedMs) }
    },
  }
}

function hostOf({ clock }: World, process: ModelProcess, watchMs: number): Host {
  let leases = 0
  let dueMs = Number.POSITIVE_INFINITY
  const name = Math.floor(clock.now() / 1_000).toString(36)
  return {
    now: process.now,
    newId: () => `${name}-${++leases}`,
    cancelled: () => false,
    shouldYield: () => process.now() >= dueMs,
    notify(update) {
      if (update.kind === 'planned') dueMs = process.now() + watchMs
    },
    async sleepUntil(deadlineMs, wake) {
      const untilMs = process.now() < dueMs ? Math.min(deadlineMs, dueMs) : deadlineMs
      await Promise.race([clock.sleepUntil(clock.now() + untilMs - process.now(), process), wake])
    },
  }
}

/** Opens a sync in a new process: the request, and its dependencies. */
export function openSync(world: World, step: Extract<Step, { sync: unknown }>) {
  const process = startProcess(world, step.killAt)
  const run = `run${world.syncs.length}`
  const steps = stepsOf(world, process, openPlanning(world, process, run))
  const unattended = step.watchMs === undefined ? {} : { unattended: true }
  const request: SyncRequest = {
    ...PLAIN_SYNC,
    ...unattended,
    ...step.sync,
    run,
    workspaceId: world.store.workspaceId,
  }
  const { notify, ...plain } = hostOf(world, process, step.watchMs ?? Number.POSITIVE_INFINITY)
  const waits: SyncOutcome['waits'] = []
  const noted = (update: ProgressUpdate) => {
    if (update.kind === 'waiting') waits.push(update)
    notify(update)
  }
  const host: Host = { ...plain, notify: noted, ...step.host }
  return { process, steps, request, host, waits }
}

/** Runs one sync in a new process. */
export async function runSync(world: World, step: Extract<Step, { sync: unknown }>): Promise<SyncOutcome> {
  const { clock, syncs } = world
  const beganMs = clock.now()
  const outcome = { index: syncs.length, asked: step.sync, beganMs, report: null, error: null }
  const { process, steps, request, host, waits } = openSync(world, step)
  const sync = syncWorkspace(steps, host, request).then(
    report => ({ report, error: null }),
    (error: unknown) => ({ report: null, error }),
  )
  const ended = await clock
    .drive(Promise.race([sync, process.died.then(() => null)]))
    .catch(error => ({ report: null, error }))
  process.dead = true
  const { isRunaway } = process
  const isKilled = ended === null && !isRunaway
  return { ...outcome, ...ended, waits, isKilled, isRunaway, endedMs: clock.now() }
}
