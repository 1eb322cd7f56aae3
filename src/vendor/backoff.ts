import { SECOND } from '../core/time.ts'

const BASE_MS = 500
const CAP_MS = 20 * SECOND

/** A vendor who asks for a longer wait than this is not waited for here: whoever called knows better what to do meanwhile. */
export const LONGEST_RETRY_AFTER_MS = 60 * SECOND

/**
 * How long to wait after the failed attempt of that number (from 1), in ms: exponential with full jitter, so that many clients that
 * failed together do not return together; on top of `Retry-After` where the vendor sent one.
 * @param random a number in [0, 1)
 */
export function backoffMs(attempt: number, random: number, retryAfterMs = 0): number {
  return retryAfterMs + Math.floor(random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1)))
}
