// When an agent whose export answered 404 is asked again. A list that lacks it, or still names it, is no evidence: only its own answer is.
import { DAY, HOUR } from '../time.ts'

const MAX_REST_MS = 7 * DAY

/** When to ask again, ms: an hour after the first 404, then twice as long each time, at most a week. `refusedMs`: when it answered so, in any order. */
export function restUntilMs(refusedMs: readonly number[]): number {
  const times = [...refusedMs].sort((a, b) => a - b)
  // Several windows of one sync are refused within a short time.
  const tries = times.filter((ms, at) => at === 0 || ms - times[at - 1]! > HOUR / 2).length
  return tries === 0 ? 0 : times.at(-1)! + Math.min(MAX_REST_MS, HOUR * 2 ** (tries - 1))
}

/** True for an agent that is not asked yet. Ignores a time beyond the longest rest: a clock was wrong. */
export const isResting = (untilMs: number, nowMs: number): boolean => untilMs > nowMs && untilMs - nowMs <= MAX_REST_MS
