// A conversation record (section 2.10), assembled from its parts. Records are never stored.

import { DAY, SECOND } from '../../../core/time.ts'
import { PURPOSE } from '../random.ts'
import { contact, crm, environment } from './contact.ts'
import { findings } from './findings.ts'
import { assignment, delegationOf, handling } from './handling.ts'
import { integration } from './integration.ts'
import { sentence } from './locales.ts'
import { drawFor, type Scene, type SeenSession, total } from './scene.ts'

/** The parts share no key, so their texts are joined, at a quarter of the cost of merging the objects (0.5 ms). */
const PARTS: readonly ((scene: Scene) => object)[] = [
  environment,
  counters,
  contact,
  handling,
  assignment,
  integration,
  crm,
  tokens,
  findings,
  undocumented,
]

/** Renders the record as JSON text, without undefined fields. */
export function renderDocument(scene: Scene): string {
  const texts = PARTS.map(part => JSON.stringify(part(scene)).slice(1, -1))
  return `{${texts.filter(text => text !== '').join(',')}}`
}

/** Returns the same record as an object, in a third of the time of rendering and parsing it. Missing fields are undefined. */
export function recordOf(scene: Scene): Record<string, unknown> {
  return Object.assign({}, ...PARTS.map(part => part(scene))) as Record<string, unknown>
}

/** Fields that real records carry although section 2.10 does not list them. */
function undocumented(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.extras)
  const { locale, sessions } = scene
  return {
    title: draw.made(0.9, () => sentence(draw, locale)),
    lastMessage: draw.made(0.95, () => sentence(draw, locale)),
    widgetVersion: draw.made(0.7, () => `4.${draw.int(0, 12)}.${draw.int(0, 9)}`),
    unreadCount: draw.made(0.5, () => draw.int(0, sessions.at(-1)!.messages)),
    attachments: draw.made(0.1, () => [
      { kind: 'image', url: `https://cdn.example.com/a/${draw.hex(20)}.png`, bytes: draw.int(1_000, 4_000_000) },
    ]),
  }
}

// Section 2.10, "Counters and times".

function counters(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.counters)
  const { sessions, createdMs, lastActivityMs, boundaryMs, asOfMs, resolvedMs, reopenedMs } = scene
  const interactions = total(sessions, session => session.userMessages)
  const talkedMs = total(sessions, session => session.lastMs - session.startMs)
  const stamp = scene.ts === 'created' ? createdMs : boundaryMs
  return {
    ts: scene.life.hasTs ? stamp : undefined,
    firstMessageTS: createdMs,
    lastMessageTS: lastActivityMs,
    messagesNum: total(sessions, session => session.messages),
    interactionsNum: draw.some(0.9, interactions),
    sessionsNum: sessions.length,
    totalUserInteractions: draw.some(0.8, interactions),
    convoTimeSeconds: Math.round(talkedMs / SECOND),
    ratingFrom5: draw.made(0.25, () => draw.int(1, 5)),
    averageLatency: draw.made(0.8, () => draw.decimal(350, 4_200, 3)),
    // The vendor writes 0 for "never".
    lastViewed: draw.some(0.6, draw.chance(0.3) ? 0 : Math.min(asOfMs, lastActivityMs + draw.int(0, DAY))),
    delegatedAt: delegationOf(scene)?.ms,
    resolvedAt: resolvedMs ?? null,
    reopenedAt: reopenedMs,
    hotScore: draw.made(0.5, () => draw.int(0, 100)),
    leadScore: draw.chance(0.6) ? 0 : draw.decimal(0, 100, 1),
    funnelLastEvaluated: draw.some(0.3, lastActivityMs),
  }
}

// Section 2.10, `tokenUsage`.

function tokens(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.tokens)
  return { tokenUsage: draw.chance(0.95) ? tokenUsage(scene.sessions, draw.decimal(0.05, 0.4, 3)) : null }
}

function tokenUsage(sessions: readonly SeenSession[], lastTurnShare: number) {
  const input = total(sessions, session => session.inputTokens)
  const output = total(sessions, session => session.outputTokens)
  const last = sessions.at(-1)!
  const lastInput = Math.ceil(last.inputTokens * lastTurnShare)
  const lastOutput = Math.ceil(last.outputTokens * lastTurnShare)
  return {
    cumulativeInputTokens: input,
    cumulativeOutputTokens: output,
    cumulativeTotalTokens: input + output,
    cumulativeUsd: dollars(total(sessions, session => session.usd)),
    lastTurnInputTokens: lastInput,
    lastTurnOutputTokens: lastOutput,
    lastTurnTotalTokens: lastInput + lastOutput,
    lastTurnUsd: dollars(last.usd * lastTurnShare),
    lastTurnContextWindow: 128_000,
    lastTurnInputUsdPer1k: 0.0025,
    lastTurnOutputUsdPer1k: 0.01,
    // Seconds, unlike most times of the record.
    lastTurnTs: Math.floor(last.lastMs / SECOND),
    lastTurnModelId: last.modelId,
    usagePerModel: usagePerModel(sessions),
  }
}

function usagePerModel(sessions: readonly SeenSession[]) {
  const models = [...new Set(sessions.map(session => session.modelId))]
  return Object.fromEntries(models.map(modelId => [modelId, usageOf(sessions.filter(s => s.modelId === modelId))]))
}

function usageOf(sessions: readonly SeenSession[]) {
  const inputTokens = total(sessions, session => session.inputTokens)
  const outputTokens = total(sessions, session => session.outputTokens)
  const usd = dollars(total(sessions, session => session.usd))
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, usd, sessions: sessions.length }
}

/** Rounds to millionths of a dollar, the vendor's precision. */
function dollars(amount: number): number {
  return Math.round(amount * 1e6) / 1e6
}
