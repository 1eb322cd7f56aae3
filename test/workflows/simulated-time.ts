// Simulated time for the sandbox and the house together: nobody waits for real, and both see the same clock.
import type { Clock } from '../../src/clock.ts'
import type { SandboxClock } from '../../src/sandbox/clock.ts'

export interface SimulatedTime extends Clock {
  /** Time stands still while any such work is under way. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** The same clock for what sleeps in the middle of such work: meanwhile that work does not keep time from passing. */
  within: Clock
  /** Sets how far our clock is ahead of the vendor's, ms; negative: behind. */
  goAhead(byMs: number): void
}

interface Sleeper {
  untilMs: number
  wake(): void
}

/** A clock that jumps to whoever is due first, as soon as nobody does anything but sleep. */
export function simulatedTime(sandbox: SandboxClock): SimulatedTime {
  const sleepers = new Set<Sleeper>()
  let working = 0
  let aheadMs = 0
  let timer: NodeJS.Timeout | undefined

  function jump(): void {
    const [first] = [...sleepers].sort((a, b) => a.untilMs - b.untilMs)
    if (!first) return
    if (first.untilMs > sandbox.now()) sandbox.set(first.untilMs)
    first.wake()
  }

  /** A moment later, so that whoever was just woken can get to work first. */
  function watch(): void {
    clearTimeout(timer)
    timer = sleepers.size > 0 && working <= 0 ? setTimeout(jump, 2) : undefined
  }

  async function counted<T>(change: 1 | -1, work: () => Promise<T>): Promise<T> {
    working += change
    watch()
    try {
      return await work()
    } finally {
      working -= change
      watch()
    }
  }

  const now = () => sandbox.now() + aheadMs
  const sleepUntil: Clock['sleepUntil'] = (untilMs, signal) =>
    new Promise((resolve, reject) => {
      const leave = () => {
        sleepers.delete(sleeper)
        signal.removeEventListener('abort', stop)
        watch()
      }
      const stop = () => {
        leave()
        reject(signal.reason)
      }
      const sleeper: Sleeper = {
        untilMs: untilMs - aheadMs,
        wake() {
          leave()
          resolve()
        },
      }
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      sleepers.add(sleeper)
      watch()
    })

  return {
    now,
    sleepUntil,
    during: work => counted(1, work),
    within: { now, sleepUntil: (untilMs, signal) => counted(-1, () => sleepUntil(untilMs, signal)) },
    goAhead(byMs) {
      aheadMs = byMs
    },
  }
}
