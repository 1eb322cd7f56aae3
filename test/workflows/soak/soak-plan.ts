// The plan of a soak: changes and faults with their times on the sandbox's clock, derived only from a seed.
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import type { FaultSettings } from '../../../src/sandbox/faults/fault-settings.ts'
import type { ConditionSettings } from '../../../src/sandbox/limits/condition-settings.ts'
import { Draw } from '../../../src/sandbox/world/random.ts'

export interface PlannedChange {
  /** Time since the start of the soak. */
  afterMs: number
  conditions?: ConditionSettings
  faults?: FaultSettings
  /** From this change on, our clock is this far ahead of the vendor's. */
  aheadMs?: number
}

const PURPOSE = 7_001

/** Fault rates of a normal day, low for faults that take real time. On a bad day they are BAD_DAY_FACTOR times as high. */
const NORMAL_RATES: NonNullable<FaultSettings['rates']> = {
  'others-requests': { rate: 0.01, param: 10 },
  'hour-forgotten': 0.004,
  '429': 0.002,
  '429-retry-after': { rate: 0.002, param: 10 * MINUTE },
  '503': 0.003,
  'dropped-before': 0.003,
  '500': 0.003,
  'expired-cursor': 0.04,
  'empty-page': 0.01,
  'repeated-cursor': 0.02,
  'missing-cursor': 0.005,
  shuffled: 0.02,
  'hour-reported-high': 0.01,
  'usage-reported-low': 0.01,
  'old-period-reported': 0.01,
  'cut-body': 0.003,
  'cut-json': 0.003,
  html: 0.003,
  'dropped-after': 0.003,
  slow: { rate: 0.004, param: 10 },
  overtaking: { rate: 0.004, param: 20 },
  // Only ever behind: if the vendor's clock were ahead of its data, rows that arrive meanwhile would be late, and no client could
  // detect that.
  'clock-off': { rate: 0.01, param: -20 * MINUTE },
}
const BAD_DAY_FACTOR = 4
const BAD_DAY_SHARE = 0.3

function ratesOf(times: number): NonNullable<FaultSettings['rates']> {
  const entries = Object.entries(NORMAL_RATES).map(([name, rate]) =>
    typeof rate === 'number'
      ? ([name, rate * times] as const)
      : ([name, { rate: rate.rate * times, param: rate.param }] as const),
  )
  return Object.fromEntries(entries)
}

/** Faults of each day; they also apply to searches for agents. */
const dailyFaults = (seed: number, days: number): PlannedChange[] =>
  Array.from({ length: days }, (_, day) => {
    const isBad = new Draw(seed, day, PURPOSE).chance(BAD_DAY_SHARE)
    return {
      afterMs: day * DAY,
      faults: { seed: seed + day, rates: ratesOf(isBad ? BAD_DAY_FACTOR : 1), search: true },
    }
  })

/**
 * Changes of conditions and their reversals, repeated every thirty days. `planOf` adds the deletion of the agent that never returns.
 */
const CHANGES: readonly PlannedChange[] = [
  { afterMs: 4 * DAY + 20 * MINUTE, conditions: { gone: [2] } },
  { afterMs: 7 * DAY, conditions: { gone: [] } },
  { afterMs: 8 * DAY + 5 * HOUR, conditions: { turnPeriod: true } },
  { afterMs: 10 * DAY, conditions: { paid: false } },
  { afterMs: 11 * DAY, conditions: { paid: true } },
  { afterMs: 12 * DAY, conditions: { mirrorLagMs: 90 * MINUTE } },
  { afterMs: 13 * DAY, conditions: { mirrorLagMs: 0 } },
  { afterMs: 14 * DAY, aheadMs: DAY },
  { afterMs: 14 * DAY + 14 * HOUR, aheadMs: 0 },
  { afterMs: 16 * DAY, conditions: { gone: [1] } },
  { afterMs: 16 * DAY + 14 * HOUR, conditions: { gone: [] } },
  { afterMs: 17 * DAY, conditions: { clockOffsetMs: -20 * MINUTE } },
  { afterMs: 19 * DAY, conditions: { clockOffsetMs: 0 } },
  { afterMs: 19 * DAY + 7 * HOUR, conditions: { turnPeriod: true } },
  { afterMs: 21 * DAY, aheadMs: -DAY },
  { afterMs: 21 * DAY + 14 * HOUR, aheadMs: 0 },
  { afterMs: 23 * DAY, conditions: { forgetHour: true, othersRequests: 20 } },
  // Deletes the first agent during a run, after the run has listed it.
  { afterMs: 25 * DAY + 9 * HOUR, faults: { script: [{ at: 2, set: { gone: [1] } }] } },
  { afterMs: 25 * DAY + 23 * HOUR, conditions: { gone: [] } },
]

/** Number of the agent that is deleted for good. */
export const DELETED_AGENT = 3

/** All changes within this many days, in order; the third agent is deleted for good a day and a half before the end. */
export function planOf(seed: number, days: number): PlannedChange[] {
  const deletedMs = (days - 1.5) * DAY
  const keepingDeleted = (change: PlannedChange): PlannedChange =>
    change.conditions?.gone && change.afterMs >= deletedMs
      ? { ...change, conditions: { ...change.conditions, gone: [...change.conditions.gone, DELETED_AGENT] } }
      : change
  const months = Array.from({ length: Math.ceil(days / 30) }, (_, month) => month * 30 * DAY)
  const changes = months.flatMap(startMs => CHANGES.map(change => ({ ...change, afterMs: startMs + change.afterMs })))
  const deletion = { afterMs: deletedMs, conditions: { gone: [DELETED_AGENT] } }
  return [...dailyFaults(seed, days), ...changes, deletion]
    .filter(({ afterMs }) => afterMs < days * DAY)
    .map(keepingDeleted)
    .sort((a, b) => a.afterMs - b.afterMs)
}
