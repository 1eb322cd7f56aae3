// Gaps: ranges of an agent's conversations that the vendor refused, or of which no answer could be read. They are asked again at growing
// intervals. Until then nothing may call the workspace up to date.
import type { ErrorCode } from '../errors.ts'
import { DAY, HOUR } from '../time.ts'

/** A range of `ts` that could not be read; plain JSON. */
export interface Gap {
  agentId: string
  /** First second; null: from the beginning of time. */
  fromSec: number | null
  /** Last second. */
  toSec: number
  /** Code of the last failure, and its text. */
  code: ErrorCode
  what: string
  /** When it could first not be read, ms. */
  sinceMs: number
  tries: number
  /** It is not asked again before this time, ms. */
  retryAtMs: number
  /** The vendor answered with records of other ranges: nothing of the agent is requested before `retryAtMs`. */
  outOfRange?: true
}

/** When a gap is asked again, ms: after 1 h · 2^tries, at most a day. */
export const retryAtMs = ({ lastTriedMs, tries }: { lastTriedMs: number; tries: number }): number =>
  lastTriedMs + Math.min(DAY, HOUR * 2 ** tries)

/** Number of gaps that a plan or a report carries. */
export const MAX_GAPS_REPORTED = 20

/** What a sync, or its plan, knows of the completeness of its workspace. */
interface Reached {
  /** Of a sync: its outcome. */
  outcome: string
  /** Windows that are unfinished. */
  windowsLeft: number
  /** Number of conversation records in the quarantine; absent: none. */
  unusable?: number
  /** Agents are left out, or may be: the list of agents may be short or could not be read, or an id cannot be requested. */
  agentsLeftOut?: boolean
}

/** The only judge of "up to date": everything up to now is stored, as far as is known. */
export const isUpToDate = (
  { outcome, windowsLeft, unusable = 0, agentsLeftOut = false }: Reached,
  gaps: readonly Gap[] = [],
): boolean => outcome === 'done' && windowsLeft === 0 && unusable === 0 && !agentsLeftOut && gaps.length === 0

/** An agent whose export answered 404 is asked again: a list that lacks it, or still names it, is no evidence. */
const MAX_BACKOFF_MS = 7 * DAY

/** When to ask again, ms: an hour after the first 404, then twice as long each time, at most a week. `refusedMs`: when it answered so, in any order. */
export function agentBackoffUntilMs(refusedMs: readonly number[]): number {
  const times = [...refusedMs].sort((a, b) => a - b)
  // Several windows of one sync are refused within a short time.
  const tries = times.filter((ms, at) => at === 0 || ms - times[at - 1]! > HOUR / 2).length
  return tries === 0 ? 0 : times.at(-1)! + Math.min(MAX_BACKOFF_MS, HOUR * 2 ** (tries - 1))
}

/** True for an agent that is not asked yet. Ignores a time beyond the longest interval: a clock was wrong. */
export const isBackingOff = (untilMs: number, nowMs: number): boolean =>
  untilMs > nowMs && untilMs - nowMs <= MAX_BACKOFF_MS
