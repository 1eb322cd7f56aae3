// Kills the workers and the server of a sync on Temporal repeatedly at random times. Counts lost rows, duplicate rows and requests
// that were billed twice, as kills.ts does for embedded syncs. Shared by a bench and a test.
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { TOKEN_ENV } from '../../scene.ts'
import { until } from '../../until.ts'
import { type BilledRequests, watchBilledRequests } from './billed-requests.ts'
import { type KilledHome, openKilledHome } from './killed-home.ts'
import { startTeam, type Team, VICTIMS, type Victim } from './temporal-team.ts'

export interface TemporalKillsOptions {
  /** Path of the Temporal CLI. */
  command: string
  kills: number
  seed: number
  /** Called after each sync. */
  onReport?: (report: TemporalKillsReport) => void
}

export interface TemporalKillsReport {
  kills: number
  /** Number of kills by victim. */
  killed: Record<Victim, number>
  /** Syncs that completed; all of them stored what an undisturbed sync stores. */
  syncs: number
  lost: number
  doubled: number
  /** Number of repeated requests that no kill explains: no killed worker had them in flight, or their page had landed. */
  exportedTwice: number
  /** Number of requests that were repeated because a worker was killed while they were in flight. */
  rebilled: number
  /** The maximum over all syncs of a sync's rebilled requests per export worker that was killed during it. */
  maxRebilledPerKill: number
}

interface Run {
  report: TemporalKillsReport
  draw: Draw
  team: Team
  killed: KilledHome
  billedRequests: BilledRequests
}

/** After this many kills the sync runs to its end: constant kills would prevent progress. */
const KILLS_A_SYNC = 4
/** Longest time from a sync's start to its first kill, which may hit the planning. An undisturbed sync takes about six seconds. */
const FIRST_KILL_MS = 6_000
/** Longest time from the first request after a kill to the next kill. */
const NEXT_KILL_MS = 1_500
/** How long to wait for requests after a kill: a lost lease is detected and granted again within about twenty seconds. */
const CONTINUES_MS = 25_000
/** The tables are compared after every third sync. */
const COMPARED_EVERY = 3
const QUEUES = 'killed'
/**
 * Short leases and timeouts, because a killed worker's lease is granted again only when its deadline and the duration of a request
 * have passed. Answers are slow, so that most kills interrupt a request.
 */
const SHORT = {
  latencyMs: 800,
  top: { temporal: { queues: QUEUES, lease: '3s' } },
  workspace: { timeout: '4s' },
}

const isExport = (victim: Victim): boolean => victim.startsWith('export')

/** Resolves when fetching continues after a kill, when the sync has ended, or at a deadline in case nothing is left to fetch. */
async function untilFetching(run: Run): Promise<void> {
  const before = await run.killed.served()
  const latestMs = performance.now() + CONTINUES_MS
  await until(
    async () =>
      performance.now() >= latestMs || (await run.killed.served()) !== before || !(await run.team.isRunning()),
    { everyMs: 100 },
  )
}

/** Kills random victims until the sync has ended or `most` victims are killed; returns the victims. */
async function killWhileItRuns(run: Run, most: number): Promise<Victim[]> {
  const { report, draw, team } = run
  const victims: Victim[] = []
  while (victims.length < most) {
    await sleep(draw.unit() * (victims.length === 0 ? FIRST_KILL_MS : NEXT_KILL_MS))
    if (!(await team.isRunning())) return victims
    const victim = VICTIMS[Math.floor(draw.unit() * VICTIMS.length)]!
    await team.kill(victim)
    victims.push(victim)
    report.kills += 1
    report.killed[victim] += 1
    await untilFetching(run)
  }
  return victims
}

/** Adds the sync's repeated requests to the report, by cause. */
async function account({ report, billedRequests }: Run, victims: readonly Victim[]): Promise<void> {
  const { repeated, unlanded } = await billedRequests.next()
  const exports = victims.filter(isExport).length
  report.exportedTwice += repeated + (exports === 0 ? unlanded : 0)
  if (exports === 0) return
  report.rebilled += unlanded
  report.maxRebilledPerKill = Math.max(report.maxRebilledPerKill, unlanded / exports)
}

async function compare({ report, team, killed, billedRequests }: Run): Promise<void> {
  const { lost, doubled } = await team.withoutWarehouse(() => killed.compare())
  report.lost += lost
  report.doubled += doubled
  report.exportedTwice += Math.abs(billedRequests.conversations() - killed.expectedExports())
}

/** @throws if a sync fails */
async function syncOnce(run: Run, most: number): Promise<void> {
  const { report, team } = run
  await team.ask()
  const victims = await killWhileItRuns(run, Math.min(KILLS_A_SYNC, most))
  await until(async () => !(await team.isRunning()), { everyMs: 200, withinMs: 300_000 })
  const ended = await team.report()
  if (ended?.outcome !== 'done') throw new Error(`a sync ended so: ${JSON.stringify(ended)}`)
  report.syncs += 1
  await account(run, victims)
}

async function killUntil(run: Run, { kills, onReport: tell }: TemporalKillsOptions): Promise<void> {
  const { report, killed } = run
  while (report.kills < kills) {
    await syncOnce(run, kills - report.kills)
    if (report.syncs % COMPARED_EVERY === 0 || report.kills >= kills) await compare(run)
    tell?.(report)
    killed.nextDay()
  }
}

export async function killOnTemporal(options: TemporalKillsOptions): Promise<TemporalKillsReport> {
  const { command, seed } = options
  const none = Object.fromEntries(VICTIMS.map(victim => [victim, 0])) as Record<Victim, number>
  const nothing = { kills: 0, syncs: 0, lost: 0, doubled: 0, exportedTwice: 0, rebilled: 0, maxRebilledPerKill: 0 }
  const killed = await openKilledHome(seed, SHORT)
  const { config } = killed
  try {
    const team = await startTeam({
      command,
      config,
      queues: QUEUES,
      workspaceId: 'ws_demo',
      env: TOKEN_ENV,
      folder: dirname(config),
    })
    try {
      const run = {
        report: { ...nothing, killed: none },
        draw: new Draw(seed, 0, 0),
        team,
        killed,
        billedRequests: watchBilledRequests(killed),
      }
      await killUntil(run, options)
      return run.report
    } finally {
      await team.close()
    }
  } finally {
    await killed.close()
  }
}
