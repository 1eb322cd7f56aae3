// Kills the workers and the server of a sync on Temporal repeatedly at random times. Counts lost rows, duplicate rows
// and requests that were billed twice, as kills.ts does for embedded syncs.
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { TOKEN_ENV } from '../../scene.ts'
import { until } from '../../until.ts'
import { watchBilledRequests } from './billed-requests.ts'
import { openKilledHome } from './killed-home.ts'
import { startTeam, VICTIMS, type Victim } from './temporal-team.ts'

interface TemporalKillsReport {
  lost: number
  doubled: number
  /** Number of repeated requests that no kill explains: no killed worker had them in flight, or their page had landed. */
  exportedTwice: number
  /** Maximum over all syncs of the rebilled requests per export worker that was killed during the sync. */
  maxRebilledPerKill: number
}

/** Number of kills after which the sync runs to its end: constant kills would prevent progress. */
const KILLS_A_SYNC = 4
/** Longest time from a sync's start to its first kill, which may hit the planning. An undisturbed sync takes about six seconds. */
const FIRST_KILL_MS = 6_000
/** Longest time from the first request after a kill to the next kill. */
const NEXT_KILL_MS = 1_500
/** Time to wait for requests after a kill: a lost lease is detected and granted again within about twenty seconds. */
const CONTINUES_MS = 25_000
const QUEUES = 'killed'
/**
 * Short leases and timeouts, because a killed worker's lease is granted again only when its deadline and the duration
 * of a request have passed. Answers are slow, so that most kills interrupt a request.
 */
const SHORT = {
  latencyMs: 800,
  top: { temporal: { queues: QUEUES, lease: '3s' } },
  workspace: { timeout: '4s' },
}

/** Kills processes of syncs on Temporal. `command`: the Temporal CLI. @throws if a sync fails */
export async function killOnTemporal(options: {
  command: string
  kills: number
  seed: number
}): Promise<TemporalKillsReport> {
  const { command, kills, seed } = options
  const report: TemporalKillsReport = { lost: 0, doubled: 0, exportedTwice: 0, maxRebilledPerKill: 0 }
  const draw = new Draw(seed, 0, 0)
  const killed = await openKilledHome(seed, SHORT)
  onTestFinished(killed.close)
  const billedRequests = watchBilledRequests(killed)
  const { config } = killed
  const place = { folder: dirname(config), config, queues: QUEUES, workspaceId: 'ws_demo' }
  const team = await startTeam({ ...place, command, env: TOKEN_ENV })
  onTestFinished(team.close)

  /** Resolves when fetching continues after a kill, when the sync has ended, or at a deadline in case nothing is left to fetch. */
  async function untilFetching(): Promise<void> {
    const [before, latestMs] = [await killed.served(), performance.now() + CONTINUES_MS]
    const continues = async () =>
      performance.now() >= latestMs || (await killed.served()) !== before || !(await team.isRunning())
    await until(continues, { everyMs: 100 })
  }

  /** Kills random victims until the sync has ended or `most` victims are killed; returns the victims. */
  async function killWhileItRuns(most: number): Promise<Victim[]> {
    const victims: Victim[] = []
    while (victims.length < most) {
      await sleep(draw.unit() * (victims.length === 0 ? FIRST_KILL_MS : NEXT_KILL_MS))
      if (!(await team.isRunning())) return victims
      const victim = VICTIMS[Math.floor(draw.unit() * VICTIMS.length)]!
      await team.kill(victim)
      victims.push(victim)
      await untilFetching()
    }
    return victims
  }

  for (let left = kills; left > 0; killed.nextDay()) {
    await team.ask()
    const victims = await killWhileItRuns(Math.min(KILLS_A_SYNC, left))
    left -= victims.length
    await until(async () => !(await team.isRunning()), { everyMs: 200 })
    const ended = await team.report()
    if (ended?.outcome !== 'done') throw new Error(`a sync ended so: ${JSON.stringify(ended)}`)
    const { repeated, unlanded } = await billedRequests.next()
    const exports = victims.filter(victim => victim.startsWith('export')).length
    report.exportedTwice += repeated + (exports === 0 ? unlanded : 0)
    if (exports > 0) report.maxRebilledPerKill = Math.max(report.maxRebilledPerKill, unlanded / exports)
    const { lost, doubled } = await team.withoutWarehouse(killed.compare)
    report.lost += lost
    report.doubled += doubled
    report.exportedTwice += Math.abs(billedRequests.conversations() - killed.expectedExports())
    // Workers estimate the vendor's clock from its answers, and it jumps by a day.
    for (const worker of ['export 1', 'export 2'] as const) await team.kill(worker)
  }
  return report
}
