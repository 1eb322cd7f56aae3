// When to kill: at random, spread over about as long as the command takes, on any machine and whatever else runs on it.
import { Draw } from '../../src/sandbox/world/random.ts'
import type { Ended } from './sync-process.ts'

export interface KillTimes {
  /** Milliseconds from a start to its kill. */
  nextMs(): number
  /** How it ended. */
  tell(ended: Ended): void
}

/** As long as it takes Node to start, nothing can be broken. */
const FIRST_SHARE = 0.3
/** The span grows at each kill and shrinks where the command came to its end: every sixth does or so. */
const SPAN = { firstMs: 2_000, afterKill: 1.06, afterEnd: 0.75 }

export function killTimes(seed: number): KillTimes {
  const draw = new Draw(seed, 0, 0)
  let spanMs = SPAN.firstMs
  return {
    nextMs: () => spanMs * (FIRST_SHARE + (1 - FIRST_SHARE) * draw.unit()),
    tell({ code }) {
      spanMs *= code === null ? SPAN.afterKill : SPAN.afterEnd
    },
  }
}
