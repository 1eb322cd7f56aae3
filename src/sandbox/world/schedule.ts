// The life cycle of a conversation: its sessions, resolutions and archiving. The index determines all of it; the clock only
// decides how much has already happened.
//
//   start ──▶ end ──▶ (resolved) ──▶ start ──▶ end ──▶ … ──▶ (archived)
import { DAY, HOUR, MINUTE, SECOND } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Placement } from './placement.ts'
import { Draw, PURPOSE } from './random.ts'

const SESSIONS_CUMULATIVE = [0.78, 0.91, 0.97] as const

/** Upper bound for the time from creation to the last event: three pauses, a resolution, archiving. */
export const LONGEST_LIFETIME_MS = 65 * DAY

const NO_HUMAN_SHARE = 0.06
const NO_TS_SHARE = 0.002

export interface Session {
  startMs: number
  endMs: number
  /** True if a person wrote in it, so that it is billable. */
  human: boolean
  /** Undefined if nobody resolved the conversation between this session and the next. */
  resolvedMs: number | undefined
}

export interface Schedule {
  index: number
  /** False for a few old records that carry no `ts`. */
  hasTs: boolean
  sessions: Session[]
  archivedMs: number | undefined
}

export type Scheduler = (index: number) => Schedule

export function createScheduler(options: ResolvedOptions, placement: Placement): Scheduler {
  const { seed } = options
  return index => {
    const leader = placement.leaderOf(index)
    const timing = new Draw(seed, leader, PURPOSE.timing)
    timing.word() // the placement uses this draw
    const sessions = drawSessions(timing, placement.createdMs(index))
    markHuman(new Draw(seed, index, PURPOSE.human), sessions)
    return {
      index,
      hasTs: recordHasTs(options, index),
      sessions,
      archivedMs: drawArchived(timing, sessions.at(-1)!),
    }
  }
}

/** False for a few old records. New records always have a `ts`: without it, no window with a start would return them. */
export function recordHasTs({ seed, conversations }: ResolvedOptions, index: number): boolean {
  return index >= conversations || !new Draw(seed, index, PURPOSE.stamp).chance(NO_TS_SHARE)
}

function drawSessions(timing: Draw, createdMs: number): Session[] {
  const unit = timing.unit()
  const count = 1 + SESSIONS_CUMULATIVE.filter(share => unit >= share).length
  const sessions: Session[] = []
  let startMs = createdMs
  for (let number = 0; number < count; number++) {
    const endMs = startMs + timing.logarithmic(20 * SECOND, 40 * MINUTE)
    const nextMs = endMs + timing.logarithmic(HOUR, 10 * DAY)
    const resolvedMs = endMs + timing.logarithmic(5 * MINUTE, 40 * HOUR)
    const resolved = timing.chance(0.6) && (number === count - 1 || resolvedMs < nextMs)
    sessions.push({ startMs, endMs, human: true, resolvedMs: resolved ? resolvedMs : undefined })
    startMs = nextMs
  }
  return sessions
}

function markHuman(draw: Draw, sessions: Session[]): void {
  sessions[0]!.human = !draw.chance(NO_HUMAN_SHARE)
  for (const session of sessions.slice(1)) session.human = !draw.chance(0.15)
}

function drawArchived(timing: Draw, last: Session): number | undefined {
  const settledMs = last.resolvedMs ?? last.endMs
  const archivedMs = settledMs + timing.logarithmic(3 * DAY, 30 * DAY)
  return timing.chance(0.2) ? archivedMs : undefined
}

/** Returns the number of sessions with a person that have begun, which an export of the conversation bills. */
export function billableSessions(schedule: Schedule, nowMs: number): number {
  let count = 0
  for (const session of schedule.sessions) if (session.human && session.startMs <= nowMs) count++
  return count
}

/** Returns the times of the life cycle, in no particular order. */
export function scheduleMoments({ sessions, archivedMs }: Schedule): number[] {
  const moments = sessions.flatMap(({ startMs, endMs, resolvedMs }) => [startMs, endMs, resolvedMs])
  return [...moments, archivedMs].filter(ms => ms !== undefined)
}

/** Returns the moments, counted from 0, at which `ts` moves with `ts: 'activity'`: start and end of each session, in order. */
export function activityMoment(sessions: readonly Session[], moment: number): number {
  const session = sessions[moment >>> 1]
  if (session === undefined) return Number.POSITIVE_INFINITY
  return moment % 2 === 0 ? session.startMs : session.endMs
}
