// Section 2.10, "Counters and times".
import { DAY, SECOND } from '../../../core/time.ts'
import { PURPOSE } from '../random.ts'
import { delegationOf } from './handling.ts'
import { drawFor, type Scene, type SeenSession, total } from './scene.ts'

export function counters(scene: Scene) {
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

export function tokens(scene: Scene) {
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

/** The vendor reports at most millionths of a dollar. */
function dollars(amount: number): number {
  return Math.round(amount * 1e6) / 1e6
}
