// Random kill times, spread over the time that the command currently takes on this machine.
import { Draw } from '../../../src/sandbox/world/random.ts'
import type { Ended } from './sync-process.ts'

export interface KillTimes {
  /** Draws the time from the start of the command to its kill, ms. */
  nextMs(): number
  /** Adapts the span of kill times to how the command ended. */
  record(ended: Ended): void
}

/** Share of the span without kills: Node is starting, and a kill cannot damage anything. */
const FIRST_SHARE = 0.3
/** The span of kill times grows with each kill and shrinks when the command completes, so that about every sixth run completes. */
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
