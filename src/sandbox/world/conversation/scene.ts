// A conversation's state at a moment: the facts that all parts of its record share.

import type { TsUnit } from '../../options.ts'
import { conversationId } from '../identity.ts'
import { Draw, PURPOSE } from '../random.ts'
import type { Schedule, Session } from '../schedule.ts'
import { drawExchanges, type Story, storyMoments } from '../story.ts'
import { ENGLISH, type Locale, OTHER_LOCALES, prose } from './locales.ts'

export type Channel = 'web-chat' | 'whatsapp' | 'instagram' | 'voice' | 'telephony'

/** Everything that will ever happen to a conversation. */
export interface Life {
  schedule: Schedule
  /** Absent without traffic: conversations then change only by their sessions. */
  story: Story | undefined
}

export interface SeenSession {
  id: string
  /** The scheduled session, including its future part. */
  span: Session
  startMs: number
  /** Last message so far. */
  lastMs: number
  /** Undefined while the session is open. */
  endMs: number | undefined
  human: boolean
  messages: number
  userMessages: number
  modelId: string
  inputTokens: number
  outputTokens: number
  usd: number
  summary: string
}

export interface Scene {
  seed: number
  index: number
  id: string
  agentId: string
  ts: 'created' | 'activity'
  tsUnit: TsUnit
  hasTs: boolean
  channel: Channel
  locale: Locale
  firstName: string
  lastName: string
  /** Sessions that have begun; never empty. */
  sessions: SeenSession[]
  createdMs: number
  /** Last message. */
  lastActivityMs: number
  /** The last start or end of a session. */
  boundaryMs: number
  /** Time of the last event: nothing in the record is later. */
  asOfMs: number
  /** Undefined unless the conversation is currently resolved. */
  resolvedMs: number | undefined
  reopenedMs: number | undefined
  archivedMs: number | undefined
  story: Story | undefined
}

export interface Setting {
  seed: number
  ts: 'created' | 'activity'
  tsUnit: TsUnit
  agentId: string
}

const CHANNELS: readonly Channel[] = [
  'web-chat',
  'web-chat',
  'web-chat',
  'whatsapp',
  'whatsapp',
  'instagram',
  'voice',
  'telephony',
]
/** US dollars per million tokens, in and out. */
const MODELS = [
  ['gpt-4o', 2.5, 10],
  ['gpt-4.1-mini', 0.4, 1.6],
  ['claude-sonnet-4', 3, 15],
  ['gemini-2.5-flash', 0.3, 2.5],
] as const

/** The contact and the channel: fixed for the conversation's lifetime. */
function drawCast(seed: number, index: number): Pick<Scene, 'locale' | 'channel' | 'firstName' | 'lastName'> {
  const draw = new Draw(seed, index, PURPOSE.scene)
  const locale = draw.chance(0.5) ? ENGLISH : draw.pick(OTHER_LOCALES)
  return {
    locale,
    channel: draw.pick(CHANNELS),
    firstName: draw.pick(locale.firstNames),
    lastName: draw.pick(locale.lastNames),
  }
}

export const channelOf = (seed: number, index: number): Channel => drawCast(seed, index).channel

export function createScene(setting: Setting, { schedule, story }: Life, nowMs: number): Scene {
  const { seed } = setting
  const { index } = schedule
  const cast = drawCast(seed, index)
  const begun = schedule.sessions.filter(session => session.startMs <= nowMs)
  const sessions = begun.map((session, number) =>
    seeSession(new Draw(seed, index, PURPOSE.session + number), session, {
      locale: cast.locale,
      nowMs,
      midway: story === undefined ? undefined : midwayOf(story, number, nowMs),
    }),
  )
  const archivedMs = past(schedule.archivedMs, nowMs)
  const resolvedMs = past(begun.at(-1)?.resolvedMs, nowMs)
  const last = sessions.at(-1)!
  const lastActivityMs = last.lastMs
  const moments = story === undefined ? [] : storyMoments(story).filter(ms => ms <= nowMs)
  return {
    ...setting,
    index,
    id: conversationId(seed, index),
    hasTs: schedule.hasTs,
    ...cast,
    sessions,
    createdMs: sessions[0]!.startMs,
    lastActivityMs,
    boundaryMs: last.endMs ?? last.startMs,
    asOfMs: Math.max(archivedMs ?? resolvedMs ?? lastActivityMs, ...moments),
    resolvedMs,
    reopenedMs: reopened(begun),
    archivedMs,
    story,
  }
}

export function drawFor(scene: Scene, purpose: number): Draw {
  return new Draw(scene.seed, scene.index, purpose)
}

export function total(sessions: readonly SeenSession[], of: (session: SeenSession) => number): number {
  return sessions.reduce((sum, session) => sum + of(session), 0)
}

function past(ms: number | undefined, nowMs: number): number | undefined {
  return ms !== undefined && ms <= nowMs ? ms : undefined
}

/** A session that follows a resolution reopens the conversation. */
function reopened(begun: readonly Session[]): number | undefined {
  const place = begun.findLastIndex((_, number) => begun[number - 1]?.resolvedMs !== undefined)
  return begun[place]?.startMs
}

/** The last time that a running session was persisted: number of exchanges, and time of the last answer. */
interface Midway {
  exchanges: number
  ms: number
}

function midwayOf({ courses }: Story, number: number, nowMs: number): Midway | undefined {
  const { exchanges, persisted } = courses[number]!
  const count = persisted.findLast(one => exchanges[one - 1]!.answeredMs <= nowMs)
  return count === undefined ? undefined : { exchanges: count, ms: exchanges[count - 1]!.answeredMs }
}

interface SessionView {
  locale: Locale
  nowMs: number
  midway: Midway | undefined
}

function seeSession(draw: Draw, session: Session, { locale, nowMs, midway }: SessionView): SeenSession {
  const ended = session.endMs <= nowMs
  const [modelId, usdIn, usdOut] = draw.pick(MODELS)
  const exchanges = drawExchanges(draw)
  const userMessages = session.human ? (ended ? exchanges : (midway?.exchanges ?? 1)) : 0
  const messages = session.human ? 2 * userMessages + 1 : 1
  const inputTokens = messages * draw.int(600, 2_400)
  const outputTokens = messages * draw.int(20, 180)
  return {
    id: `s_${draw.hex(16)}`,
    span: session,
    startMs: session.startMs,
    lastMs: ended ? session.endMs : (midway?.ms ?? session.startMs),
    endMs: ended ? session.endMs : undefined,
    human: session.human,
    messages,
    userMessages,
    modelId,
    inputTokens,
    outputTokens,
    summary: ended ? prose(draw, locale, draw.logarithmic(120, 500)) : '',
    usd: Math.round(inputTokens * usdIn + outputTokens * usdOut) / 1e6,
  }
}
