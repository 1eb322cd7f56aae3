// The clock of the hosts. Tests replace it by a simulated one, together with the sandbox's.

export interface Clock {
  now(): number
  /** Resolves at that time; rejects with the signal's reason if it is aborted. */
  sleepUntil(untilMs: number, signal: AbortSignal): Promise<void>
}

/** Interval at which a long sleep checks the clock: after the machine was suspended, it may be due at once. */
const CHECK_EVERY_MS = 60_000

/** Start of this process, by its clock, ms. */
let originMs = Date.now() - performance.now()

/**
 * Returns the machine's clock, but never goes back: if the machine's clock is set back, this one stays ahead until the
 * process ends. Otherwise a wait for an hour could become a day, and a page could seem older than the one before it.
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
          timer = setTimeout(wait, Math.min(left, CHECK_EVERY_MS))
          return
        }
        signal.removeEventListener('abort', stop)
        resolve()
      }
      signal.addEventListener('abort', stop, { once: true })
      wait()
    }),
}
