// Random kill times, spread over the usual duration of the command on this machine and its load.
import { Draw } from '../../../src/sandbox/world/random.ts'
import type { Ended } from './sync-process.ts'

export interface KillTimes {
  /** Milliseconds from a start to its kill. */
  nextMs(): number
  /** Reports how the command ended. */
  record(ended: Ended): void
}

/** Node's start-up time: a kill within it cannot damage anything. */
const FIRST_SHARE = 0.3
/** The span grows at each kill and shrinks when the command completes, so that about every sixth run completes. */
const SPAN = { firstMs: 2_000, afterKill: 1.06, afterEnd: 0.75 }

export function killTimes(seed: number): KillTimes {
  const draw = new Draw(seed, 0, 0)
  let spanMs = SPAN.firstMs
  return {
    nextMs: () => spanMs * (FIRST_SHARE + (1 - FIRST_SHARE) * draw.unit()),
    record({ code }) {
      spanMs *= code === null ? SPAN.afterKill : SPAN.afterEnd
    },
  }
}
