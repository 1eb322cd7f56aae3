// Simulated time, shared by the sandbox and the app: waits take no real time, and both see the same clock.
import type { Clock } from '../../../src/clock.ts'
import type { SandboxClock } from '../../../src/sandbox/clock.ts'

export interface SimulatedTime extends Clock {
  /** Runs `work`, during which the clock stays stopped. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** The clock to use inside such work: while the work sleeps, the clock may advance. */
  within: Clock
}

interface Sleeper {
  untilMs: number
  wake(): void
}

/** Returns a clock that jumps to the next wake-up time as soon as all work is asleep. */
export function simulatedTime(sandbox: SandboxClock): SimulatedTime {
  const sleepers = new Set<Sleeper>()
  let working = 0
  let timer: NodeJS.Timeout | undefined

  function jump(): void {
    const [first] = [...sleepers].sort((a, b) => a.untilMs - b.untilMs)
    if (!first) return
    if (first.untilMs > sandbox.now()) sandbox.set(first.untilMs)
    first.wake()
  }

  /** Schedules the next jump after a short delay, in which the task that was just woken can run. */
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

  const now = () => sandbox.now()
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
        untilMs,
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
  }
}
