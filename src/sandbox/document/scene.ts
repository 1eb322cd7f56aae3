// A conversation as it stood at a moment: what all sections of its record agree on.
import { conversationId } from '../identity.ts'
import { Draw, PURPOSE } from '../random.ts'
import type { Schedule, Session } from '../schedule.ts'
import type { Locale } from './locales.ts'
import { ENGLISH, OTHER_LOCALES } from './locales.ts'
import { prose } from './prose.ts'
import type { TsUnit } from './ts-unit.ts'

export type Channel = 'web-chat' | 'whatsapp' | 'instagram' | 'voice' | 'telephony'

export interface SeenSession {
  id: string
  startMs: number
  /** Last message so far. */
  lastMs: number
  /** Undefined while the session goes on. */
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
  /** Those that have begun; never empty. */
  sessions: SeenSession[]
  createdMs: number
  lastActivityMs: number
  /** Last event: nothing in the record is later. */
  asOfMs: number
  /** Undefined where the conversation is not resolved as it stands. */
  resolvedMs: number | undefined
  reopenedMs: number | undefined
  archivedMs: number | undefined
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
/** US dollars for a million tokens, in and out. */
const MODELS = [
  ['gpt-4o', 2.5, 10],
  ['gpt-4.1-mini', 0.4, 1.6],
  ['claude-sonnet-4', 3, 15],
  ['gemini-2.5-flash', 0.3, 2.5],
] as const

export function createScene(setting: Setting, schedule: Schedule, nowMs: number): Scene {
  const { seed } = setting
  const { index } = schedule
  const draw = new Draw(seed, index, PURPOSE.scene)
  const locale = draw.chance(0.5) ? ENGLISH : draw.pick(OTHER_LOCALES)
  const begun = schedule.sessions.filter(session => session.startMs <= nowMs)
  const sessions = begun.map((session, number) =>
    seeSession(new Draw(seed, index, PURPOSE.session + number), session, locale, nowMs),
  )
  const archivedMs = past(schedule.archivedMs, nowMs)
  const resolvedMs = past(begun.at(-1)?.resolvedMs, nowMs)
  const lastActivityMs = sessions.at(-1)!.lastMs
  return {
    ...setting,
    index,
    id: conversationId(seed, index),
    hasTs: schedule.hasTs,
    channel: draw.pick(CHANNELS),
    locale,
    firstName: draw.pick(locale.firstNames),
    lastName: draw.pick(locale.lastNames),
    sessions,
    createdMs: sessions[0]!.startMs,
    lastActivityMs,
    asOfMs: archivedMs ?? resolvedMs ?? lastActivityMs,
    resolvedMs,
    reopenedMs: reopened(begun),
    archivedMs,
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

function seeSession(draw: Draw, session: Session, locale: Locale, nowMs: number): SeenSession {
  const ended = session.endMs <= nowMs
  const [modelId, usdIn, usdOut] = draw.pick(MODELS)
  const exchanges = draw.logarithmic(2, 30)
  const userMessages = session.human ? (ended ? exchanges : 1) : 0
  const messages = session.human ? 2 * userMessages + 1 : 1
  const inputTokens = messages * draw.int(600, 2_400)
  const outputTokens = messages * draw.int(20, 180)
  return {
    id: `s_${draw.hex(16)}`,
    startMs: session.startMs,
    lastMs: ended ? session.endMs : session.startMs,
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
