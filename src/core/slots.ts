// Limits work that runs at the same time.

export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  get isFull(): boolean {
    return this.#free === 0
  }

  /** Number of callers that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Runs the work in a slot. Resolves to undefined, without running it, when the signal aborts first. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    if (!(await this.enter(signal))) return undefined
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  /** Takes a slot, in order of arrival; false if the signal aborts first. The caller returns it with `leave`. */
  enter(signal?: AbortSignal): Promise<boolean> {
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

  leave(): void {
    // Passes the slot directly to the one that has waited longest, so that no new one overtakes it.
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}
