// As many at once as there are connections. Waiting happens here and not in undici's own queue, so that a request leaves the
// moment it is allowed to: neither its timeout, nor its time sent, nor its lease's deadline runs while it queues.

export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Runs the work in a slot. Resolves to undefined, without running it, when the signal fires first. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    if (!(await this.#enter(signal))) return undefined
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #enter(signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false)
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve(true)
    }
    return new Promise(resolve => {
      const enter = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve(true)
      }
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        resolve(false)
      }
      this.#waiting.push(enter)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  #leave(): void {
    // The slot goes straight to who waited longest; it is never free in between.
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}
