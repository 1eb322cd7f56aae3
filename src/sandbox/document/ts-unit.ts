// The unit in which a record tells its `ts`: the vendor's document says "number" and no more.
import { SECOND } from '../../core/time.ts'
import { Draw, PURPOSE } from '../random.ts'

const UNITS = ['s', 'ms', 'us'] as const

type Unit = (typeof UNITS)[number]

/** `mixed`: each conversation has its own, and keeps it. */
export type TsUnit = Unit | 'mixed'

export const TS_UNITS: readonly TsUnit[] = [...UNITS, 'mixed']

export function unitFor({ seed, index, tsUnit }: { seed: number; index: number; tsUnit: TsUnit }): Unit {
  return tsUnit === 'mixed' ? new Draw(seed, index, PURPOSE.unit).pick(UNITS) : tsUnit
}

/** Seconds are whole, as a field of seconds is: what is below them is gone. */
export function inUnit(ms: number, unit: Unit): number {
  if (unit === 's') return Math.floor(ms / SECOND)
  return unit === 'ms' ? ms : ms * 1_000
}
