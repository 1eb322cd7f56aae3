// Section 2.10, `tokenUsage`.
import { SECOND } from '../../core/time.ts'
import { PURPOSE } from '../random.ts'
import type { Scene, SeenSession } from './scene.ts'
import { drawFor, total } from './scene.ts'

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
    // Seconds, where most of the record's times are milliseconds.
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

/** Millionths of a dollar are the finest that the vendor tells. */
function dollars(amount: number): number {
  return Math.round(amount * 1e6) / 1e6
}
