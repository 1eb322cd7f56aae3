// Limits requests by key: a bucket that refills.
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

export interface RateLimitSettings {
  /** Requests at once. */
  burst: number
  perSecond: number
}

const MOST_KEYS = 10_000

/** Returns a function that takes one request of a key from its bucket. @throws TOO_MANY_REQUESTS */
export function rateLimit({ burst, perSecond }: RateLimitSettings, now: () => number): (key: string) => void {
  const buckets = new Map<string, { left: number; atMs: number }>()
  return key => {
    const nowMs = now()
    const { left, atMs } = buckets.get(key) ?? { left: burst, atMs: nowMs }
    const refilled = Math.min(burst, left + (Math.max(0, nowMs - atMs) / SECOND) * perSecond)
    buckets.delete(key)
    buckets.set(key, { left: refilled < 1 ? refilled : refilled - 1, atMs: nowMs })
    if (buckets.size > MOST_KEYS) buckets.delete(buckets.keys().next().value!)
    if (refilled >= 1) return
    const retryAfterSeconds = Math.ceil((1 - refilled) / perSecond)
    throw new ConvohouseError('TOO_MANY_REQUESTS', {
      what: 'Too many requests.',
      hint: `Try again in ${retryAfterSeconds} s.`,
      facts: { retryAfterSeconds },
    })
  }
}
