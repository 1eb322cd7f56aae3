// The newest answer of a source that may be slow: a scrape never waits for it beyond a bound.

export interface LatestOptions<T> {
  read: () => Promise<T>
  /** An answer is given out for so long before it is asked for again, ms. */
  freshMs: number
  /** A scrape waits for a new answer for so long, ms; then the one before is given out. */
  patienceMs: number
  /** An answer that is older than this is given out no more, ms: better none than one that stands still. */
  staleMs: number
  /** A clock that is never set back, ms. */
  now?: () => number
}

/**
 * Asked, it tells the newest answer, or null where there is none that is recent enough. It asks the source once at a time, however many
 * ask it. Never rejects: a source that fails is one that tells nothing new.
 */
export function latest<T>(options: LatestOptions<T>): () => Promise<T | null> {
  const { read, freshMs, patienceMs, staleMs, now = () => performance.now() } = options
  let last: { answer: T; atMs: number } | null = null
  let reading: Promise<void> | null = null

  async function ask(): Promise<void> {
    const atMs = now()
    try {
      last = { answer: await read(), atMs }
    } catch {
      // What it told before stays until it is stale.
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
