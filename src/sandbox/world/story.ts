// What happens to a conversation besides its sessions beginning and ending, where traffic is asked for: it is persisted in the
// middle of a session, handed to a person, rated, and annotated days later. Settled by the index, as the sessions are.
import { DAY, HOUR, MINUTE, SECOND } from '../../core/time.ts'
import { Draw, PURPOSE } from './random.ts'
import type { Schedule, Session } from './schedule.ts'
import { ORGANIZATIONS, STAFF, type StaffMember, TEAMS } from './staff.ts'

const CSAT_SHARE = 0.3
const NOTES_SHARE = 0.25
const MOST_NOTES = 3
const BUG_SHARE = 0.02
const LEAD_SHARE = 0.2
const FORM_SHARE = 0.15

/** What follows sessions, and is no part of them. */
interface Aftermath {
  csatMs: number | undefined
  /** Notes in the CRM, in order. */
  noteMs: number[]
  /** Somebody reports a fault of the agent; the record tells nothing of it. */
  bugMs: number | undefined
}

/** A session, as far as its record changes while it goes on. */
interface Course {
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
const persistedMs = ({ exchanges, persisted }: Course): number[] =>
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

// The handoff of a session to a person: at most one, within the session, so that none is asked for before it.

export interface Handoff {
  requestedMs: number
  /** Undefined: nobody took it. */
  acceptedMs: number | undefined
  acceptedBy: StaffMember | undefined
  organizationId: string | null | undefined
  requestedTeamKey: string | null | undefined
  teamIds: string[] | null | undefined
  teamKeys: string[] | null | undefined
  queuePosition: number | null | undefined
}

interface SessionKey {
  seed: number
  index: number
  /** Number of the session, from 0. */
  session: number
}

/** Undefined for sessions without one. */
export function handoffOf({ seed, index, session }: SessionKey, { startMs, endMs }: Span): Handoff | undefined {
  const draw = new Draw(seed, index, PURPOSE.handoff + session)
  if (!draw.chance(0.4)) return undefined
  const requestedMs = startMs + Math.floor((endMs - startMs) * draw.unit())
  const acceptedMs = Math.min(endMs, requestedMs + draw.int(1, 30 * MINUTE))
  const teams = draw.several(TEAMS, 2)
  const accepted = draw.chance(0.8)
  return {
    requestedMs,
    acceptedMs: accepted ? acceptedMs : undefined,
    acceptedBy: accepted ? draw.pick(STAFF) : undefined,
    organizationId: draw.made(0.8, () => draw.pick(ORGANIZATIONS).id),
    requestedTeamKey: draw.some(0.7, teams[0]!.key),
    teamIds: draw.some(
      0.9,
      teams.map(({ id }) => id),
    ),
    teamKeys: draw.some(
      0.9,
      teams.map(({ key }) => key),
    ),
    queuePosition: draw.made(0.7, () => draw.int(1, 12)),
  }
}

// The exchanges of a session with a person: the contact writes, the agent answers. The first stands at the session's start,
// the last answer at its end.

interface Span {
  startMs: number
  endMs: number
}

export interface Exchange {
  askedMs: number
  answeredMs: number
}

/** Of a session whose draw has given its model. */
export const drawExchanges = (draw: Draw): number => draw.logarithmic(2, 30)

/** How many exchanges the session comes to by its end; for one with a person in it. */
function exchangeCount(seed: number, index: number, session: number): number {
  const draw = new Draw(seed, index, PURPOSE.session + session)
  draw.word() // spent on the model
  return drawExchanges(draw)
}

/** All of them, in order; no two answers in the same millisecond, and each question behind the answer before. */
function exchangesOf(draw: Draw, count: number, { startMs, endMs }: Span): Exchange[] {
  const slotMs = (endMs - startMs) / (count - 1)
  const exchanges: Exchange[] = [{ askedMs: startMs, answeredMs: startMs }]
  for (let number = 1; number < count; number++) {
    const shift = number === count - 1 ? 0 : (draw.unit() - 0.5) * 0.8
    const answeredMs = number === count - 1 ? endMs : Math.round(startMs + (number + shift) * slotMs)
    const gapMs = answeredMs - exchanges.at(-1)!.answeredMs
    exchanges.push({ askedMs: answeredMs - Math.min(draw.int(SECOND, 9 * SECOND), gapMs >>> 1), answeredMs })
  }
  return exchanges
}
