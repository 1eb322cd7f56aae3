// Time, as the hosts see it. Tests put a simulated one in its place, together with the sandbox's.

export interface Clock {
  now(): number
  /** Resolves at that time; rejects with the signal's reason when it is aborted. */
  sleepUntil(untilMs: number, signal: AbortSignal): Promise<void>
}

/** The longest that a Node timer can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  sleepUntil: (untilMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      let timer: NodeJS.Timeout
      const stop = () => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const wait = () => {
        const left = untilMs - Date.now()
        if (left > 0) {
          timer = setTimeout(wait, Math.min(left, LONGEST_TIMER_MS))
          return
        }
        signal.removeEventListener('abort', stop)
        resolve()
      }
      signal.addEventListener('abort', stop, { once: true })
      wait()
    }),
}
