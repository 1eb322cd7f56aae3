// Runs a soak: rounds of syncs under the planned faults, with restarts and aborted runs, then a day without faults.
import { RESOURCE_NAMES } from '../../../src/config/resources.ts'
import { isCode } from '../../../src/core/errors.ts'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { Draw } from '../../../src/sandbox/world/random.ts'
import type { SyncReport } from '../../../workflows/steps.ts'
import { isDeep } from '../../tier.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { planOf } from './soak-plan.ts'
import { type Mirror, mirrorOf } from './soak-scans.ts'

export interface Soaked {
  simulated: SimulatedApp
  /** Converts the sandbox's time to ours. */
  ourTime(sandboxMs: number): number
  mirror: Mirror
  /** Number of runs by outcome, and of failures by code. */
  outcomes: Record<string, number>
  /** Maximum of the overage packs that were charged in one period. */
  packs: number
}

interface Soak {
  simulated: SimulatedApp
  seed: number
  days: number
  draw: Draw
  ahead: { atMs: number; aheadMs: number }[]
  lags: { atMs: number; lagMs: number }[]
  outcomes: Record<string, number>
  packs: number
}

const PURPOSE = 7_002
/** Minutes from one poll to the next: on average seven hours in the deep tier, else seventeen. */
const POLL = { least: 40, most: isDeep ? 800 : 2_000 }
const RESTART_SHARE = 1 / 20
const ABORT_SHARE = 0.08
/** An aborted run is aborted at most this many real milliseconds after its start: while it lists, fetches or loads. */
const ABORT_AFTER_MS = 120

const count = ({ outcomes }: Soak, what: string): void => {
  outcomes[what] = (outcomes[what] ?? 0) + 1
}

/** Runs one sync, aborts it with probability `abortShare`, and counts how it ended. */
async function run(soak: Soak, asked: Parameters<SimulatedApp['sync']>[0], abortShare: number): Promise<void> {
  const { simulated, draw } = soak
  const aborting = new AbortController()
  const timer = draw.chance(abortShare) ? setTimeout(() => aborting.abort(), draw.int(1, ABORT_AFTER_MS)) : undefined
  try {
    const report: SyncReport = await simulated.sync(asked, aborting.signal)
    count(soak, report.outcome)
    for (const failure of report.failures) count(soak, failure.code)
  } catch (error) {
    // If the agents cannot be listed, the run ends before it starts a window.
    if (!isCode(error, 'INTERRUPTED', 'API_UNAVAILABLE', 'API_NOT_JSON', 'API_TIMEOUT')) throw error
    count(soak, error.code)
  } finally {
    clearTimeout(timer)
  }
  soak.packs = Math.max(soak.packs, (await simulated.usage()).overagePacksCharged)
}

/** Applies the planned changes that are due. */
function applyDueChanges({ simulated, ahead, lags }: Soak, due: ReturnType<typeof planOf>): void {
  const { clock, conditions, faults } = simulated.sandbox
  while (due[0] && START_MS + due[0].afterMs <= clock.now()) {
    const { conditions: changed, faults: served, aheadMs } = due.shift()!
    if (changed) conditions.set(changed)
    if (changed?.mirrorLagMs !== undefined) lags.push({ atMs: clock.now(), lagMs: changed.mirrorLagMs })
    if (served) faults.set(served)
    if (aheadMs === undefined) continue
    simulated.clock.setAhead(aheadMs)
    ahead.push({ atMs: clock.now(), aheadMs })
  }
}

/** Syncs at random intervals until the last day, with restarts, aborts, planned changes and a weekly refresh. */
async function rounds(soak: Soak): Promise<void> {
  const { simulated, draw, seed, days } = soak
  const { clock } = simulated.sandbox
  const due = planOf(seed, days)
  let refreshedMs = START_MS
  for (let atMs = START_MS; atMs < START_MS + days * DAY; atMs += draw.int(POLL.least, POLL.most) * MINUTE) {
    if (clock.now() < atMs) clock.set(atMs)
    applyDueChanges(soak, due)
    if (draw.chance(RESTART_SHARE)) await simulated.restart()
    const weekly = clock.now() >= refreshedMs + 7 * DAY
    if (weekly) refreshedMs = clock.now()
    await run(soak, weekly ? { refresh: { ids: [], ageMs: 2 * DAY } } : {}, ABORT_SHARE)
  }
}

/** A day without faults, with a quota large enough for everything that remains. */
async function faultFreeDay(soak: Soak): Promise<void> {
  const { simulated } = soak
  simulated.sandbox.faults.set({})
  for (let round = 0; round < 6; round++) {
    simulated.sandbox.conditions.set({ turnPeriod: true })
    simulated.advance(4 * HOUR)
    await run(soak, {}, 0)
  }
}

/**
 * Soaks an app for this many days. The same seed yields the same faults, but not the same order of requests, because up to four
 * requests run concurrently.
 */
export async function soakFor(options: {
  seed: number
  days: number
  sandbox: Partial<SandboxOptions>
  settings: NonNullable<Parameters<typeof simulatedApp>[0]>['settings']
}): Promise<Soaked> {
  const { seed, days, sandbox, settings } = options
  const simulated = await simulatedApp({
    sandbox: { ...sandbox, seed },
    settings: { ...settings, resources: RESOURCE_NAMES },
  })
  const draw = new Draw(seed, 0, PURPOSE)
  const soak: Soak = { simulated, seed, days, draw, ahead: [], lags: [], outcomes: {}, packs: 0 }
  await rounds(soak)
  await faultFreeDay(soak)
  return {
    simulated,
    ourTime: atMs => atMs + (soak.ahead.findLast(span => span.atMs <= atMs)?.aheadMs ?? 0),
    mirror: mirrorOf(soak.lags),
    outcomes: soak.outcomes,
    packs: soak.packs,
  }
}
