// Time, as the hosts see it. Tests put a simulated one in its place, together with the sandbox's.

export interface Clock {
  now(): number
  /** Resolves at that time; rejects with the signal's reason when it is aborted. */
  sleepUntil(untilMs: number, signal: AbortSignal): Promise<void>
}

/** How often a long sleep looks at the clock: after the machine itself has slept, it may be due at once. */
const LOOK_EVERY_MS = 60_000

/** When this process began, by its clock, ms. */
let originMs = Date.now() - performance.now()

/**
 * The machine's clock, which may be set while we run, as a clock that never goes back: by as much as it is set back, ours is
 * ahead until the process ends. Else an hour that is waited for could become a day, and a page be older than the one before.
 */
function now(): number {
  originMs = Math.max(originMs, Date.now() - performance.now())
  return Math.floor(originMs + performance.now())
}

export const systemClock: Clock = {
  now,
  sleepUntil: (untilMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      let timer: NodeJS.Timeout
      const stop = () => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const wait = () => {
        const left = untilMs - now()
        if (left > 0) {
          timer = setTimeout(wait, Math.min(left, LOOK_EVERY_MS))
          return
        }
        signal.removeEventListener('abort', stop)
        resolve()
      }
      signal.addEventListener('abort', stop, { once: true })
      wait()
    }),
}
