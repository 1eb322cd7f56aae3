// Kills `convohouse sync` repeatedly at random times and counts lost rows, duplicate rows and requests that were billed
// twice. Shared by a bench and a test.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ended } from '../../command.ts'
import { until } from '../../until.ts'
import { type BilledRequest, type BilledRequests, watchBilledRequests } from './billed-requests.ts'
import { type KillTimes, killTimes, runCommand } from './kill-times.ts'
import { type KilledHome, openKilledHome } from './killed-home.ts'

/** Activities of a sync during which it may be killed. `fetching` includes the landing and loading of earlier pages. */
export const PHASES = ['opening', 'planning', 'fetching', 'loading', 'closing'] as const
export type Phase = (typeof PHASES)[number]

export interface KillsOptions {
  kills: number
  seed: number
  /** Called after the kills in each data folder. */
  onReport?: (report: KillsReport) => void
}

export interface KillsReport {
  kills: number
  /** Syncs that completed without a kill. */
  ended: number
  lost: number
  doubled: number
  /** Number of exports beyond one for each new or changed conversation, and of requests for pages that had landed. */
  exportedTwice: number
  /** Maximum number of requests that one kill caused to be repeated. */
  maxRebilledPerKill: number
  rebilled: number
  phases: Record<Phase, number>
}

/** Number of kills after which another data folder is used, which begins with migrations and a first sync. */
const KILLS_A_HOME = 20
interface Run {
  report: KillsReport
  times: KillTimes
}

interface Scene {
  killed: KilledHome
  billedRequests: BilledRequests
}

function phaseOf({ killed, billedRequests }: Scene, exported: BilledRequest, { stdout }: Ended): Phase {
  if (stdout.includes('"kind":"report"')) return 'closing'
  if (billedRequests.conversations() >= killed.expectedExports()) return exported.listings > 0 ? 'loading' : 'opening'
  if (exported.requests > 0) return 'fetching'
  return exported.listings > 0 ? 'planning' : 'opening'
}

type KillAt = (hasEnded: () => boolean) => Promise<unknown>

const syncOf = ({ killed: { config } }: Scene, killAt?: KillAt): Promise<Ended> =>
  runCommand(['sync', '--yes', '--json', '--config', config], killAt)

/** Numbers of requests after which a sync is killed: after one it is planning, after more it fetches and loads. */
const REQUESTS = [4, 1, 8, 2]

/** Resolves once the sandbox has served this many more requests, so that some kills hit the middle even on a slow machine. */
async function afterRequests({ killed }: Scene, more: number): Promise<KillAt> {
  const before = await killed.served()
  return async hasEnded => {
    await until(async () => hasEnded() || (await killed.served()) >= before + more, { everyMs: 10 })
  }
}

function expectEnded({ code, stderr, stdout }: Ended): void {
  if (code !== 0) throw new Error(`a sync ended with ${code}: ${stderr}${stdout}`)
}

/** Starts a sync and kills it at a random point. If it completes first, no kill is counted, and the next sync finds a new day. */
async function killOnce(run: Run, scene: Scene): Promise<void> {
  const { report, times } = run
  const isTimed = report.kills % 2 === 0
  const more = REQUESTS[((report.kills - 1) / 2) % REQUESTS.length]!
  const ended = await syncOf(scene, isTimed ? () => sleep(times.nextMs()) : await afterRequests(scene, more))
  if (isTimed) times.record(ended)
  const exported = await scene.billedRequests.next()
  report.exportedTwice += exported.repeated
  if (ended.code !== null) {
    expectEnded(ended)
    report.ended += 1
    report.exportedTwice += exported.unlanded
    scene.killed.nextDay()
    return
  }
  report.kills += 1
  report.rebilled += exported.unlanded
  report.maxRebilledPerKill = Math.max(report.maxRebilledPerKill, exported.unlanded)
  report.phases[phaseOf(scene, exported, ended)] += 1
}

async function endAndCompare(run: Run, scene: Scene): Promise<void> {
  const { report } = run
  expectEnded(await syncOf(scene))
  const { repeated, unlanded } = await scene.billedRequests.next()
  const { lost, doubled } = await scene.killed.compare()
  report.lost += lost
  report.doubled += doubled
  report.exportedTwice +=
    repeated + unlanded + Math.abs(scene.billedRequests.conversations() - scene.killed.expectedExports())
}

async function killInOneHome(run: Run, seed: number, until: number): Promise<void> {
  const killed = await openKilledHome(seed)
  try {
    const scene = { killed, billedRequests: watchBilledRequests(killed) }
    while (run.report.kills < until) await killOnce(run, scene)
    await endAndCompare(run, scene)
  } finally {
    await killed.close()
  }
}

/** Kills syncs repeatedly. @throws if a sync that was not killed fails */
export async function killSyncs(options: KillsOptions): Promise<KillsReport> {
  const phases = Object.fromEntries(PHASES.map(phase => [phase, 0])) as Record<Phase, number>
  const nothing = { kills: 0, ended: 0, lost: 0, doubled: 0, exportedTwice: 0, maxRebilledPerKill: 0, rebilled: 0 }
  const run: Run = {
    report: { ...nothing, phases },
    times: killTimes(options.seed),
  }
  for (let home = 0; run.report.kills < options.kills; home++) {
    await killInOneHome(run, options.seed + home, Math.min(run.report.kills + KILLS_A_HOME, options.kills))
    options.onReport?.(run.report)
  }
  return run.report
}
