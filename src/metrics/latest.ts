// Caches the newest value of a source that may be slow, so that a scrape waits only for a bounded time.

export interface LatestOptions<T> {
  read: () => Promise<T>
  /** Age at which a value is read again, ms. */
  freshMs: number
  /** How long a caller waits for a new value before it gets the previous one, ms. */
  patienceMs: number
  /** Age at which a value is dropped, ms: an absent series is better than a frozen one. */
  staleMs: number
  /** A monotonic clock, ms. */
  now?: () => number
}

/** Returns a reader of the newest value, or null where none is recent enough. Concurrent readers share one read; failures never reject. */
export function latest<T>(options: LatestOptions<T>): () => Promise<T | null> {
  const { read, freshMs, patienceMs, staleMs, now = () => performance.now() } = options
  let last: { answer: T; atMs: number } | null = null
  let reading: Promise<void> | null = null

  async function ask(): Promise<void> {
    const atMs = now()
    try {
      last = { answer: await read(), atMs }
    } catch {
      // The previous value stays until it is stale.
    }
    reading = null
  }

  return async () => {
    if (last === null || now() - last.atMs > freshMs) {
      reading ??= ask()
      await Promise.race([reading, patience(patienceMs)])
    }
    return last !== null && now() - last.atMs <= staleMs ? last.answer : null
  }
}

const patience = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms).unref())
