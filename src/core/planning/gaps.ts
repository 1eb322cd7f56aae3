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
}

/** When a gap is asked again, ms: after 1 h · 2^tries, at most a day. */
export const retryAtMs = ({ lastTriedMs, tries }: { lastTriedMs: number; tries: number }): number =>
  lastTriedMs + Math.min(DAY, HOUR * 2 ** tries)

/** The known gaps of a workspace, few enough for a report. */
export interface KnownGaps {
  count: number
  /** The gaps that are named. */
  first: readonly Gap[]
}

const MAX_NAMED = 20

export const knownGaps = (gaps: readonly Gap[]): KnownGaps => ({ count: gaps.length, first: gaps.slice(0, MAX_NAMED) })

/** What a sync, or its plan, knows of the completeness of its workspace. */
interface Reached {
  /** Of a sync: its outcome. */
  outcome: string
  /** Windows that are planned or unfinished. */
  windowsLeft: number
  /** The list of agents may lack agents, or could not be read. */
  agentsUncertain?: true
}

/** The only judge of "up to date": everything up to now is stored, as far as is known. */
export const isUpToDate = (
  { outcome, windowsLeft, agentsUncertain }: Reached,
  gaps: { count: number } | undefined,
): boolean => outcome === 'done' && windowsLeft === 0 && agentsUncertain === undefined && (gaps?.count ?? 0) === 0
