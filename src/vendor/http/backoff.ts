import { SECOND } from '../../core/time.ts'

const BASE_MS = 500
const CAP_MS = 20 * SECOND

/** Longer waits are left to the caller. */
export const LONGEST_RETRY_AFTER_MS = 60 * SECOND

/**
 * Wait after failed attempt `attempt` (from 1), in ms: exponential with full jitter, so that clients that failed together do not return
 * together, plus `Retry-After`.
 * @param random a number in [0, 1)
 */
export function backoffMs(attempt: number, random: number, retryAfterMs = 0): number {
  return retryAfterMs + Math.floor(random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1)))
}
