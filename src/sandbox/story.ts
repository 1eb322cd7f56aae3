// What happens to a conversation besides its sessions beginning and ending, where traffic is asked for: it is persisted in the
// middle of a session, handed to a person, rated, and annotated days later. Settled by the index, as the sessions are.
import { DAY, HOUR, MINUTE } from '../core/time.ts'
import type { Exchange } from './exchanges.ts'
import { exchangeCount, exchangesOf } from './exchanges.ts'
import type { Handoff, SessionKey } from './handoff.ts'
import { handoffOf } from './handoff.ts'
import { Draw, PURPOSE } from './random.ts'
import type { Schedule, Session } from './schedule.ts'

const CSAT_SHARE = 0.3
const NOTES_SHARE = 0.25
const MOST_NOTES = 3
const BUG_SHARE = 0.02
const LEAD_SHARE = 0.2
const FORM_SHARE = 0.15

/** What follows sessions, and is no part of them. */
export interface Aftermath {
  csatMs: number | undefined
  /** Notes in the CRM, in order. */
  noteMs: number[]
  /** Somebody reports a fault of the agent; the record tells nothing of it. */
  bugMs: number | undefined
}

/** A session, as far as its record changes while it goes on. */
export interface Course {
  /** Empty where no person wrote in it. */
  exchanges: Exchange[]
  /** How many exchanges the record holds when it is persisted between start and end. */
  persisted: number[]
  handoff: Handoff | undefined
}

export interface Story extends Aftermath {
  /** One for each session. */
  courses: Course[]
  /** The contact left a way to be reached, or filled in a form; each as the conversation is persisted. */
  leadMs: number | undefined
  formMs: number | undefined
}

/** The exchanges of a session, which are there with and without traffic. */
export function sessionExchanges({ seed, index, session }: SessionKey, span: Session): Exchange[] {
  if (!span.human) return []
  return exchangesOf(new Draw(seed, index, PURPOSE.exchange + session), exchangeCount(seed, index, session), span)
}

export function aftermathOf(seed: number, { index, sessions }: Schedule): Aftermath {
  const draw = new Draw(seed, index, PURPOSE.aftermath)
  const rated = sessions[draw.int(0, sessions.length - 1)]!
  const { endMs } = sessions.at(-1)!
  const csatMs = rated.endMs + draw.logarithmic(MINUTE, 2 * DAY)
  const bugMs = endMs + draw.logarithmic(10 * MINUTE, 3 * DAY)
  return {
    csatMs: draw.chance(CSAT_SHARE) && rated.human ? csatMs : undefined,
    bugMs: draw.chance(BUG_SHARE) ? bugMs : undefined,
    noteMs: draw.chance(NOTES_SHARE) ? drawNotes(draw, endMs) : [],
  }
}

export function storyOf(seed: number, schedule: Schedule): Story {
  const { index, sessions } = schedule
  const courses = sessions.map((session, number) => courseOf({ seed, index, session: number }, session))
  const draw = new Draw(seed, index, PURPOSE.fact)
  const persisted = persistedMs(courses[0]!)
  const { human, endMs } = sessions[0]!
  return {
    ...aftermathOf(seed, schedule),
    courses,
    leadMs: draw.chance(LEAD_SHARE) && human ? (persisted[0] ?? endMs) : undefined,
    formMs: draw.chance(FORM_SHARE) && human ? (persisted.at(-1) ?? endMs) : undefined,
  }
}

/** When the course's session is persisted between its start and its end. */
export const persistedMs = ({ exchanges, persisted }: Course): number[] =>
  persisted.map(count => exchanges[count - 1]!.answeredMs)

/** Every time at which the record changes by the story, in no order; some may be the same. */
export function storyMoments({ courses, csatMs, noteMs }: Story): number[] {
  const told = courses.flatMap(course => [
    ...persistedMs(course),
    course.handoff?.requestedMs,
    course.handoff?.acceptedMs,
  ])
  return [...told, csatMs, ...noteMs].filter(ms => ms !== undefined)
}

/** Number of those times that have come. */
export const storyVersionAt = (story: Story, nowMs: number): number =>
  storyMoments(story).filter(ms => ms <= nowMs).length

function courseOf(key: SessionKey, session: Session): Course {
  const exchanges = sessionExchanges(key, session)
  return { exchanges, persisted: middles(exchanges.length), handoff: handoffOf(key, session) }
}

/** Twice at most, a third and two thirds on: the vendor does not write with each message. */
function middles(exchanges: number): number[] {
  if (exchanges < 3) return []
  if (exchanges === 3) return [2]
  return [1 + Math.round((exchanges - 1) / 3), 1 + Math.round((2 * (exchanges - 1)) / 3)]
}

function drawNotes(draw: Draw, endMs: number): number[] {
  const notes = Array.from({ length: draw.int(1, MOST_NOTES) }, () => endMs + draw.logarithmic(6 * HOUR, 12 * DAY))
  return notes.toSorted((a, b) => a - b)
}
