// One short run against a vendor with many faults. A seed chooses the faults, their rates, the changes during the run and when it
// is stopped. Then the faults end, and syncs run until everything is exported.

import type { App } from '../../../src/app.ts'
import { VendorError } from '../../../src/client/faults.ts'
import { RESOURCE_NAMES } from '../../../src/config/resources.ts'
import type { WorkspaceConfig } from '../../../src/config.ts'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import { FAULT_NAMES, FAULTS, type FaultName, type ScriptRule } from '../../../src/sandbox/faults/fault-settings.ts'
import type { ConditionSettings } from '../../../src/sandbox/limits/condition-settings.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Rate } from '../../../src/sandbox/rates.ts'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { appViolations, truthViolations } from './fault-invariants.ts'

const PURPOSE = 9_000

/** Durations of faults that take real time, kept short. */
const PARAMS: Partial<Record<FaultName, number>> = { slow: 20, overtaking: 20 }

export interface Mix {
  seed: number
  sandbox: Partial<SandboxOptions>
  settings: Partial<WorkspaceConfig>
  rates: Partial<Record<FaultName, Rate>>
  script: ScriptRule[]
  search: boolean
  /** Time between two syncs, ms. */
  pauses: number[]
  /** Number of the export request at which the run is stopped; null: never. */
  stopAt: number | null
}

const LOAD_MS = 10 * MINUTE
const MIRROR_LAG_MS = 10 * MINUTE

/** Draws a change of conditions during the run; most kinds are reverted later in the run. */
function changes(draw: Draw, arrives: boolean): ScriptRule[] {
  const at = draw.int(2, 12)
  const back = at + draw.int(2, 8)
  const pair = (set: ConditionSettings, undo: ConditionSettings): ScriptRule[] => [
    { at, set },
    { at: back, set: undo },
  ]
  const kinds: ScriptRule[][] = [
    [],
    // With arrivals the vendor's clock is only set back: if it were ahead of the data, rows that arrive meanwhile would be late.
    pair({ clockOffsetMs: (arrives ? -1 : draw.pick([-1, 1])) * draw.int(1, 48) * HOUR }, { clockOffsetMs: 0 }),
    [{ at, set: { forgetHour: true } }],
    [{ at, set: { turnPeriod: true } }],
    pair({ paid: false }, { paid: true }),
    pair({ gone: [draw.int(1, 2)] }, { gone: [] }),
    pair({ mirrorLagMs: MIRROR_LAG_MS }, { mirrorLagMs: 0 }),
    [{ at, set: { othersRequests: draw.int(5, 60) } }],
  ]
  return draw.pick(kinds)
}

function ratesOf(draw: Draw): Mix['rates'] {
  const names = new Set(Array.from({ length: draw.int(1, 5) }, () => draw.pick(FAULT_NAMES)))
  return Object.fromEntries(
    [...names].map(name => {
      const param = PARAMS[name] ?? (FAULTS[name].param && name === 'others-requests' ? draw.int(1, 20) : undefined)
      return [name, { rate: draw.decimal(0.02, 0.35, 2), ...(param !== undefined && { param }) }]
    }),
  )
}

/** Everything that the seed chooses. */
export function mixOf(seed: number): Mix {
  const draw = new Draw(seed, 0, PURPOSE)
  const late = draw.chance(0.15)
  const arrivalsPerDay = draw.pick([0, 0, 24])
  const longest = arrivalsPerDay === 0 ? 31 * DAY : DAY
  return {
    seed,
    sandbox: {
      seed,
      conversations: draw.int(25, 60),
      agents: 2,
      historyDays: draw.pick([2, 30]),
      arrivalsPerDay,
      tsUnit: draw.pick(['ms', 'ms', 's', 'us', 'mixed'] as const),
      ts: draw.pick(['created', 'created', 'activity'] as const),
      ...(draw.chance(0.3) && { hourlyRequests: draw.int(8, 30) }),
      ...(draw.chance(0.3) && { quotaSessions: draw.int(40, 90) }),
      ...(draw.chance(0.3) && { burstEvery: 20, burstSize: draw.int(3, 12) }),
      ...(late && { lateShare: 0.1, lateMs: HOUR }),
    },
    settings: {
      resources: RESOURCE_NAMES,
      maxPage: draw.pick([5, 10]),
      mirrorLagMs: MIRROR_LAG_MS,
      ...(late && { rereadShare: 0.5 }),
    },
    rates: ratesOf(draw),
    script: changes(draw, arrivalsPerDay > 0),
    search: draw.chance(0.3),
    pauses: Array.from({ length: draw.int(1, 2) }, () => draw.pick([0, 5 * MINUTE, 2 * HOUR, longest])),
    stopAt: draw.chance(0.25) ? draw.int(2, 15) : null,
  }
}

/** Stops the run at export request `stopAt`, as a signal to the process would. */
function stopper(simulated: SimulatedApp, stopAt: number | null): { signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  if (stopAt === null) return { signal: controller.signal, end() {} }
  const timer = setInterval(() => {
    if (simulated.sandbox.faults.report().requests.export >= stopAt) controller.abort(new Error('stop'))
  }, 1)
  return { signal: controller.signal, end: () => clearInterval(timer) }
}

const NORMAL_CONDITIONS: ConditionSettings = { paid: true, gone: [], mirrorLagMs: 0, clockOffsetMs: 0 }

const MOST_ROUNDS = 30

interface Finished {
  plannedAtMs: number
  violations: string[]
}

/** Syncs without faults until nothing is left; starts the next billing period when the quota is used up. */
export async function finish(simulated: SimulatedApp): Promise<Finished> {
  simulated.sandbox.faults.set({})
  simulated.sandbox.conditions.set(NORMAL_CONDITIONS)
  simulated.sandbox.clock.setSpeed(0)
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const plannedAtMs = simulated.sandbox.clock.now()
    const report = await simulated.sync()
    if (report.outcome === 'done' && !report.gaps) return { plannedAtMs, violations: [] }
    if (report.outcome === 'done') {
      // Gaps are requested again after a day at most.
      simulated.advance(DAY)
      continue
    }
    if (report.outcome !== 'period-spent') {
      const why = `ends ${report.outcome} without faults: ${report.failures[0]?.what ?? ''}`
      return { plannedAtMs, violations: [why] }
    }
    simulated.sandbox.conditions.set({ turnPeriod: true })
    simulated.advance(HOUR + MINUTE)
  }
  return { plannedAtMs: 0, violations: [`not done after ${MOST_ROUNDS} syncs without faults`] }
}

/** Upper bound for the requests of a run with so few conversations, including faults and pages of one. */
const MOST_REQUESTS = 500

/** Syncs; may be stopped, or fail because the vendor is unavailable. Returns true if the sync was stopped. */
async function disturbed(simulated: SimulatedApp, wait: boolean, stopAt: number | null): Promise<boolean> {
  const stop = stopper(simulated, stopAt)
  try {
    await simulated.sync({ wait }, stop.signal)
  } catch (error) {
    // If the agents cannot be listed, the sync ends before it starts a window.
    if (!stop.signal.aborted && !(error instanceof VendorError)) throw error
  } finally {
    stop.end()
  }
  return stop.signal.aborted
}

/** Executes the run; returns every violation. */
export async function runMix(mix: Mix, beside: { app: App; home: string; workspaceId: string }): Promise<string[]> {
  const { rates, script, search, seed, settings } = mix
  const simulated = await simulatedApp({
    beside,
    sandbox: { speed: 1, ...mix.sandbox },
    settings,
    loadMs: LOAD_MS,
  })
  const { sandbox } = simulated
  sandbox.faults.set({ seed, rates, script, search })
  let stoppedRuns = 0
  for (const [index, pauseMs] of [...mix.pauses, 0].entries()) {
    if (await disturbed(simulated, seed % 7 !== 0, index === 0 ? mix.stopAt : null)) stoppedRuns += 1
    sandbox.clock.advance(pauseMs)
  }
  const { violations, plannedAtMs } = await finish(simulated)
  const late = Boolean(mix.sandbox.lateShare)
  const exportedAgain = mix.sandbox.ts === 'activity' || late
  // Conversations that reached the mirror late are behind the coverage; re-reads find them.
  const truth = { plannedAtMs, readSinceMs: START_MS, mayMiss: late }
  const requests = (await simulated.served()).length
  return [
    ...violations,
    ...(await appViolations(simulated, { stoppedRuns, exportedAgain, conversationsPerTs: mix.sandbox.burstSize ?? 0 })),
    ...(await truthViolations(simulated, truth)),
    ...(requests > MOST_REQUESTS ? [`${requests} requests`] : []),
  ]
}
