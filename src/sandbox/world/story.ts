// Draws the events of a conversation besides its sessions: it is persisted during a session, handed to a person, rated,
// and annotated days later. The index determines all of them.
import { DAY, HOUR, MINUTE, SECOND } from '../../core/time.ts'
import { Draw, PURPOSE } from './random.ts'
import { type Schedule, type Session, scheduleMoments } from './schedule.ts'
import { ORGANIZATIONS, STAFF, TEAMS } from './staff.ts'

const CSAT_SHARE = 0.3
const NOTES_SHARE = 0.25
const BUG_SHARE = 0.02
const LEAD_SHARE = 0.2
const FORM_SHARE = 0.15

/** Share of requests of a person that nobody accepts although all people are at work, and that one on call accepts at night. */
const MISSED_SHARE = 0.08
const ON_CALL_SHARE = 0.04

/** Bounds of the time that an answer takes of the agent and, after a handoff is accepted, of a person. */
const AGENT_REPLY_MS = [SECOND, 20 * SECOND] as const
const PERSON_REPLY_MS = [MINUTE, 10 * MINUTE] as const

/** Changes after the sessions. */
interface Aftermath {
  csatMs: number | undefined
  /** Times of notes in the CRM, in order. */
  noteMs: number[]
  /** Time when a staff member reports a bug of the agent; the record does not show it. */
  bugMs: number | undefined
}

/** The changes to the record during a session. */
interface Course {
  /** Empty if no person wrote in it. */
  exchanges: Exchange[]
  /** Number of exchanges in the record each time it is persisted between start and end. */
  persisted: number[]
  handoff: Handoff | undefined
}

/** A message of the contact and the agent's answer. */
export interface Exchange {
  askedMs: number
  answeredMs: number
}

/** Everything that will ever happen to a conversation. */
export interface Life extends Schedule, Aftermath {
  /** One course per session. */
  courses: Course[]
  /** Time when the contact left contact details, or submitted a form. The conversation is persisted at these times. */
  leadMs: number | undefined
  formMs: number | undefined
}

export function lifeOf(seed: number, schedule: Schedule): Life {
  const { index, sessions } = schedule
  const courses = sessions.map((session, number) => courseOf({ seed, index, session: number }, session))
  const draw = new Draw(seed, index, PURPOSE.fact)
  const persisted = persistedMs(courses[0]!)
  const { human, endMs } = sessions[0]!
  return {
    ...schedule,
    ...aftermathOf(seed, schedule),
    courses,
    leadMs: draw.chance(LEAD_SHARE) && human ? (persisted[0] ?? endMs) : undefined,
    formMs: draw.chance(FORM_SHARE) && human ? (persisted.at(-1) ?? endMs) : undefined,
  }
}

/** Returns every time at which the record changes, in order and once each. */
export function momentsOf(life: Life): number[] {
  const during = life.courses.flatMap(course => [
    ...persistedMs(course),
    course.handoff?.requestedMs,
    course.handoff?.acceptedMs,
    course.handoff?.abandonedMs,
  ])
  const all = [...scheduleMoments(life), ...during, life.csatMs, ...life.noteMs].filter(ms => ms !== undefined)
  return [...new Set(all)].sort((a, b) => a - b)
}

/** Returns a time in each hour in which something happens: sessions are shorter than an hour. Costs less than a life. */
export function coarseMomentsOf(seed: number, schedule: Schedule): number[] {
  const { index, sessions } = schedule
  const { csatMs, noteMs, bugMs } = aftermathOf(seed, schedule)
  const abandoned = sessions.map((one, session) => handoffOf({ seed, index, session }, one)?.abandonedMs)
  return [...scheduleMoments(schedule), csatMs, bugMs, ...noteMs, ...abandoned].filter(ms => ms !== undefined)
}

function aftermathOf(seed: number, { index, sessions }: Schedule): Aftermath {
  const draw = new Draw(seed, index, PURPOSE.aftermath)
  const rated = sessions[draw.int(0, sessions.length - 1)]!
  const { endMs } = sessions.at(-1)!
  const csatMs = rated.endMs + draw.logarithmic(MINUTE, 2 * DAY)
  const bugMs = endMs + draw.logarithmic(10 * MINUTE, 3 * DAY)
  const noteMs = () => endMs + draw.logarithmic(6 * HOUR, 12 * DAY)
  return {
    csatMs: draw.chance(CSAT_SHARE) && rated.human ? csatMs : undefined,
    bugMs: draw.chance(BUG_SHARE) ? bugMs : undefined,
    noteMs: draw.chance(NOTES_SHARE) ? Array.from({ length: draw.int(1, 3) }, noteMs).sort((a, b) => a - b) : [],
  }
}

/** Returns the times at which the session is persisted between its start and end. */
const persistedMs = ({ exchanges, persisted }: Course): number[] =>
  persisted.map(count => exchanges[count - 1]!.answeredMs)

interface SessionKey {
  seed: number
  index: number
  /** Number of the session, from 0. */
  session: number
}

function courseOf(key: SessionKey, session: Session): Course {
  const handoff = handoffOf(key, session)
  const exchanges = session.human ? exchangesOf(key, session, handoff?.acceptedMs) : []
  return { exchanges, persisted: middles(exchanges.length), handoff }
}

/** Returns when a session is persisted: after at most two exchanges, since the vendor does not persist each message. */
function middles(exchanges: number): number[] {
  if (exchanges < 3) return []
  if (exchanges === 3) return [2]
  return [1 + Math.round((exchanges - 1) / 3), 1 + Math.round((2 * (exchanges - 1)) / 3)]
}

export type Handoff = NonNullable<ReturnType<typeof handoffOf>>

/**
 * Returns the handoff of a session to a person; undefined if it has none. Without `acceptedMs`, nobody accepted it: at `abandonedMs` the
 * contact gives up waiting.
 */
function handoffOf(
  { seed, index, session }: SessionKey,
  { startMs, endMs, handedOff, staffing, resolvedMs = Number.POSITIVE_INFINITY }: Session,
) {
  if (!handedOff) return undefined
  const draw = new Draw(seed, index, PURPOSE.handoff + session)
  draw.word() // the schedule uses this draw
  const requestedMs = startMs + Math.floor((endMs - startMs) * draw.unit() * 0.6)
  // The vendor's clocks differ: a few are accepted before the request.
  const waitMs = draw.logarithmic(19 * SECOND, 25 * MINUTE) - 20 * SECOND
  const acceptedMs = Math.max(startMs, requestedMs + Math.min(waitMs, Math.floor((endMs - requestedMs) * 0.6)))
  const teams = draw.several(TEAMS, 2)
  const accepted = draw.chance(Math.max(ON_CALL_SHARE, staffing - MISSED_SHARE))
  return {
    requestedMs,
    acceptedMs: accepted ? acceptedMs : undefined,
    acceptedBy: accepted ? draw.pick(STAFF) : undefined,
    organizationId: draw.made(0.8, () => draw.pick(ORGANIZATIONS).id),
    requestedTeamKey: draw.made(0.7, () => teams[0]!.key),
    teamIds: draw.made(0.9, () => teams.map(({ id }) => id)),
    teamKeys: draw.made(0.9, () => teams.map(({ key }) => key)),
    queuePosition: draw.made(0.7, () => draw.int(1, 12)),
    abandonedMs: accepted ? undefined : Math.min(resolvedMs, endMs + draw.logarithmic(HOUR, 2 * DAY)),
  }
}

/** Returns the number of exchanges of a complete session. `draw` must have drawn the session's model before. */
export const drawExchanges = (draw: Draw): number => draw.logarithmic(2, 30)

/** Returns all exchanges of a session in order. No two answers share a millisecond; each question comes after the previous answer. */
function exchangesOf(key: SessionKey, { startMs, endMs }: Session, acceptedMs = Number.POSITIVE_INFINITY): Exchange[] {
  const { seed, index, session } = key
  const model = new Draw(seed, index, PURPOSE.session + session)
  model.word() // the model uses this draw
  const count = drawExchanges(model)
  const draw = new Draw(seed, index, PURPOSE.exchange + session)
  const slotMs = (endMs - startMs) / (count - 1)
  const firstMs = Math.min(draw.logarithmic(...AGENT_REPLY_MS), Math.floor(slotMs / 4))
  const exchanges: Exchange[] = [{ askedMs: startMs, answeredMs: startMs + firstMs }]
  for (let number = 1; number < count; number++) {
    const shift = number === count - 1 ? 0 : (draw.unit() - 0.5) * 0.8
    const answeredMs = number === count - 1 ? endMs : Math.round(startMs + (number + shift) * slotMs)
    const gapMs = answeredMs - exchanges.at(-1)!.answeredMs
    const reply = acceptedMs < answeredMs ? PERSON_REPLY_MS : AGENT_REPLY_MS
    const replyMs = Math.min(draw.logarithmic(...reply), Math.floor(gapMs * 0.9))
    exchanges.push({ askedMs: answeredMs - replyMs, answeredMs })
  }
  return exchanges
}
