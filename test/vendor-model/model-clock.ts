// The clock of a history: time passes only while everything sleeps. All work of a history is in memory, so it consists
// of microtasks: once the event loop turns, all work waits, and the clock jumps to the next wake-up time.

export interface ModelClock {
  /** Returns the true time, which is also the vendor's, ms. */
  now(): number
  /** Resolves at that true time. A sleeper of a process that has died never wakes. */
  sleepUntil(atMs: number, process: { dead: boolean }): Promise<void>
  /** Lets time pass until `work` settles. @throws if `work` waits for something other than time */
  drive<T>(work: Promise<T>): Promise<T>
  /** Runs work that is not in memory, such as a query, while the clock is stopped. */
  during<T>(work: () => Promise<T>): Promise<T>
  advance(ms: number): void
}

interface Sleeper {
  atMs: number
  process: { dead: boolean }
  wake(): void
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

export function modelClock(startMs: number): ModelClock {
  let nowMs = startMs
  let sleepers: Sleeper[] = []
  const running = new Set<Promise<unknown>>()

  function wakeNext(): void {
    const next = sleepers.reduce<Sleeper | null>((first, one) => (first && first.atMs <= one.atMs ? first : one), null)
    if (next === null) throw new Error('a run waits for something that no time brings')
    sleepers = sleepers.filter(one => one !== next)
    nowMs = Math.max(nowMs, next.atMs)
    next.wake()
  }

  return {
    now: () => nowMs,
    sleepUntil: (atMs, process) => new Promise(wake => sleepers.push({ atMs, process, wake })),
    advance(ms) {
      nowMs += ms
    },
    async during(work) {
      const promise = work()
      running.add(promise)
      try {
        return await promise
      } finally {
        running.delete(promise)
      }
    },
    async drive(work) {
      let settled = false
      const ended = work.finally(() => {
        settled = true
      })
      ended.catch(() => {})
      for (await turn(); !settled; await turn()) {
        if (running.size > 0) {
          await Promise.race([...running]).catch(() => {})
          continue
        }
        sleepers = sleepers.filter(({ process }) => !process.dead)
        wakeNext()
      }
      return ended
    },
  }
}
