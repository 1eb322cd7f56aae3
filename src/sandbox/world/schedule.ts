// The life cycle of a conversation: its sessions, resolutions and archiving. The index determines all of it; the clock only
// decides how much has already happened.
//
//   start ──▶ end ──▶ (resolved) ──▶ start ──▶ end ──▶ … ──▶ (archived)
//
// Each agent's instructions are revised once. From then on, more is resolved, and less is handed to people.
import { DAY, HOUR, MINUTE, SECOND } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Placement } from './placement.ts'
import { Draw, PURPOSE } from './random.ts'

const SESSIONS_CUMULATIVE = [0.78, 0.91, 0.97] as const

/** Upper bound for the time from creation to the last event: three pauses, a resolution, archiving. Nights and weekends prolong them. */
export const LONGEST_LIFETIME_MS = 72 * DAY

const NO_HUMAN_SHARE = 0.06
const NO_TS_SHARE = 0.002

/** Shares before and after the revision of the agent's instructions. */
const RESOLVED_SHARE = [0.45, 0.75] as const
const HANDOFF_SHARE = [0.5, 0.3] as const

/** Bounds of the length of a session, without and with a person. Below an hour: something happens in each hour of a session. */
const LENGTH_MS = { alone: [20 * SECOND, 40 * MINUTE], together: [10 * MINUTE, 55 * MINUTE] } as const

export interface Session {
  startMs: number
  endMs: number
  /** True if a person wrote in it, so that it is billable. */
  human: boolean
  /** True if a person is requested. */
  handedOff: boolean
  /** Share of the people who are at work when it begins. */
  staffing: number
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

/** Returns when a user revised the instructions of an agent, counted from 0. */
export function revisionMs({ seed, startMs, historyDays }: ResolvedOptions, agent: number): number {
  const ago = new Draw(seed, agent, PURPOSE.revision).decimal(0.4, 0.6, 3)
  return startMs - Math.round(ago * historyDays * DAY)
}

export function createScheduler(options: ResolvedOptions, placement: Placement): Scheduler {
  const { seed } = options
  const revisions = Array.from({ length: options.agents }, (_, agent) => revisionMs(options, agent))
  return index => {
    const leader = placement.leaderOf(index)
    const timing = new Draw(seed, leader, PURPOSE.timing)
    timing.word() // the placement uses this draw
    const revisedMs = revisions[placement.agentOf(index)]!
    const sessions = drawSessions(timing, { seed, index, placement, revisedMs })
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

interface Sequel {
  seed: number
  index: number
  placement: Placement
  revisedMs: number
}

function drawSessions(timing: Draw, { seed, index, placement, revisedMs }: Sequel): Session[] {
  const { contacts, staff } = placement.hours
  const unit = timing.unit()
  const count = 1 + SESSIONS_CUMULATIVE.filter(share => unit >= share).length
  const sessions: Session[] = []
  let startMs = placement.createdMs(index)
  for (let number = 0; number < count; number++) {
    const revised = startMs < revisedMs ? 0 : 1
    const handedOff = new Draw(seed, index, PURPOSE.handoff + number).chance(HANDOFF_SHARE[revised])
    const [shortest, longest] = LENGTH_MS[handedOff ? 'together' : 'alone']
    const endMs = startMs + timing.logarithmic(shortest, longest)
    const pauseMs = timing.logarithmic(HOUR, 10 * DAY)
    const nextMs = number === count - 1 ? Number.POSITIVE_INFINITY : contacts.after(endMs, pauseMs)
    const workMs = timing.logarithmic(5 * MINUTE, 40 * HOUR)
    const resolvedMs = timing.chance(RESOLVED_SHARE[revised]) ? staff.after(endMs, workMs) : nextMs
    const resolution = resolvedMs < nextMs ? resolvedMs : undefined
    sessions.push({ startMs, endMs, human: true, handedOff, staffing: staff.load(startMs), resolvedMs: resolution })
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
