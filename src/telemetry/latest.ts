// The newest value of a possibly slow source, for a scrape, which must answer in bounded time.
import { HOUR, MINUTE, SECOND } from '../core/time.ts'

/** Maximum wait of a scrape for a source. Prometheus gives up after 10 s by default; all sources are read concurrently. */
const PATIENCE_MS = 2 * SECOND
export const STATE = { freshMs: 5 * SECOND, patienceMs: PATIENCE_MS, staleMs: 5 * MINUTE }
/** Limits for sources that are slow to read and change slowly. */
export const SLOW = { freshMs: MINUTE, patienceMs: PATIENCE_MS, staleMs: HOUR }

interface LatestOptions<T> {
  read: () => Promise<T>
  /** Age at which a value is read again, ms. */
  freshMs: number
  /** Time that a caller waits for a new value before it gets the previous one, ms. */
  patienceMs: number
  /** Age at which a value is dropped, ms, since a missing series is better than a frozen one. */
  staleMs: number
  /** A monotonic clock, ms. */
  now?: () => number
}

/**
 * Returns a function that reads the newest value of a source that may be slow, within a bounded time; null if no value
 * is recent enough. Concurrent calls share one read, and the function never rejects.
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
