// A conversation's state at a time: the facts that all parts of its record share.

import { conversationId } from '../identity.ts'
import { Draw, PURPOSE } from '../random.ts'
import type { Session } from '../schedule.ts'
import { drawExchanges, type Life, momentsOf } from '../story.ts'
import { LOCALES, type Locale, prose } from './locales.ts'

export type Channel = 'web-chat' | 'whatsapp' | 'instagram' | 'voice' | 'telephony'

interface Setting {
  seed: number
  ts: 'created' | 'activity'
  conversations: number
}

/** Share of the conversations of regulars, and the number of conversations that each has on average. */
const REGULAR_SHARE = 0.3
const REGULAR_CONVERSATIONS = 5

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

/** Returns the index of the contact: below 0 that of a regular, else the conversation's, for one who writes only once. */
function contactOf({ seed, conversations }: Setting, index: number): number {
  const draw = new Draw(seed, index, PURPOSE.regular)
  if (!draw.chance(REGULAR_SHARE)) return index
  return -1 - Math.floor((draw.unit() * conversations * REGULAR_SHARE) / REGULAR_CONVERSATIONS)
}

/** Draws the contact, and the channel of a conversation; both are fixed for the conversation's lifetime. */
function drawCast(seed: number, index: number) {
  const draw = new Draw(seed, index, PURPOSE.scene)
  const locale = draw.chance(0.5) ? LOCALES[0]! : draw.pick(LOCALES.slice(1))
  return {
    locale,
    channel: draw.pick(CHANNELS),
    firstName: draw.pick(locale.firstNames),
    lastName: draw.pick(locale.lastNames),
  }
}

export const channelOf = (seed: number, index: number): Channel => drawCast(seed, index).channel

export type Scene = ReturnType<typeof createScene>

/** Creates a scene. The conversation must have begun by `nowMs`. */
export function createScene(setting: Setting, life: Life, nowMs: number) {
  const { seed, ts } = setting
  const { index } = life
  const contact = contactOf(setting, index)
  const cast = { ...drawCast(seed, contact), channel: channelOf(seed, index) }
  const begun = life.sessions.filter(({ startMs }) => startMs <= nowMs)
  const sessions = begun.map((_, number) => seeSession({ seed, life, number, nowMs }, cast.locale))
  const last = sessions.at(-1)!
  return {
    ...{ seed, ts, index, contact, life },
    id: conversationId(seed, index),
    ...cast,
    /** Sessions that have begun; never empty. */
    sessions,
    createdMs: sessions[0]!.startMs,
    /** Time of the last message. */
    lastActivityMs: last.lastMs,
    /** Time of the last start or end of a session. */
    boundaryMs: last.endMs ?? last.startMs,
    /** Time of the last change: nothing in the record is later. */
    asOfMs: momentsOf(life).findLast(ms => ms <= nowMs)!,
    /** Undefined unless the conversation is currently resolved. */
    resolvedMs: past(begun.at(-1)?.resolvedMs, nowMs),
    reopenedMs: reopened(begun),
    archivedMs: past(life.archivedMs, nowMs),
  }
}

export function drawFor(scene: Scene, purpose: number): Draw {
  return new Draw(scene.seed, scene.index, purpose)
}

export function total(sessions: readonly SeenSession[], of: (session: SeenSession) => number): number {
  return sessions.reduce((sum, session) => sum + of(session), 0)
}

export function past(ms: number | undefined, nowMs: number): number | undefined {
  return ms !== undefined && ms <= nowMs ? ms : undefined
}

/** Returns when a session after a resolution reopened the conversation, if one did. */
function reopened(begun: readonly Session[]): number | undefined {
  const place = begun.findLastIndex((_, number) => begun[number - 1]?.resolvedMs !== undefined)
  return begun[place]?.startMs
}

interface SessionView {
  seed: number
  life: Life
  number: number
  nowMs: number
}

export type SeenSession = ReturnType<typeof seeSession>

function seeSession({ seed, life, number, nowMs }: SessionView, locale: Locale) {
  const draw = new Draw(seed, life.index, PURPOSE.session + number)
  const { startMs, endMs, human } = life.sessions[number]!
  const { exchanges, persisted } = life.courses[number]!
  const ended = endMs <= nowMs
  const [modelId, usdIn, usdOut] = draw.pick(MODELS)
  const complete = drawExchanges(draw)
  // A running session shows the last persisted state; its first question is there from the start.
  const midway = persisted.findLast(count => exchanges[count - 1]!.answeredMs <= nowMs)
  const userMessages = human ? (ended ? complete : (midway ?? 1)) : 0
  // At its begin, a session has a greeting and a question.
  const isUnanswered = human && !ended && midway === undefined
  const messages = 2 * userMessages + (isUnanswered ? 0 : 1)
  const inputTokens = messages * draw.int(600, 2_400)
  const outputTokens = messages * draw.int(20, 180)
  return {
    id: `s_${draw.hex(16)}`,
    startMs,
    /** Time of the last message so far. */
    lastMs: ended ? endMs : midway === undefined ? startMs : exchanges[midway - 1]!.answeredMs,
    /** Undefined while the session is open. */
    endMs: ended ? endMs : undefined,
    messages,
    userMessages,
    modelId,
    inputTokens,
    outputTokens,
    summary: ended ? prose(draw, locale, draw.logarithmic(120, 500)) : '',
    usd: Math.round(inputTokens * usdIn + outputTokens * usdOut) / 1e6,
  }
}
