// Runs a command until it is killed, at random times that are spread over the time that it currently takes on this machine.
import { Draw } from '../../../src/sandbox/world/random.ts'
import { type Ended, startCommand } from '../../command.ts'
import { TOKEN_ENV } from '../../scene.ts'

export interface KillTimes {
  /** Draws the time from the start of the command to its kill, ms. */
  nextMs(): number
  /** Adapts the span of kill times to the way in which the command ended. */
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

/** Runs the command to its end, or kills it when `killAt` resolves first. */
export async function runCommand(
  args: readonly string[],
  killAt?: (hasEnded: () => boolean) => Promise<unknown>,
): Promise<Ended> {
  const { ended, kill } = startCommand(args, { env: TOKEN_ENV })
  let hasEnded = false
  ended.then(() => {
    hasEnded = true
  })
  if (!killAt) return ended
  await Promise.race([ended, killAt(() => hasEnded)])
  return kill()
}
