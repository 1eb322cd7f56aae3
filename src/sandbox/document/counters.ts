// Section 2.10, "Counters and times".
import { DAY, MINUTE, SECOND } from '../../core/time.ts'
import { PURPOSE } from '../random.ts'
import { delegationOf } from './delegation.ts'
import type { Scene } from './scene.ts'
import { drawFor, total } from './scene.ts'
import { inUnit, unitFor } from './ts-unit.ts'

export function counters(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.counters)
  const { sessions, createdMs, lastActivityMs, boundaryMs, asOfMs, resolvedMs, reopenedMs } = scene
  const interactions = total(sessions, session => session.userMessages)
  const talkedMs = total(sessions, session => session.lastMs - session.startMs)
  const stamp = scene.ts === 'created' ? createdMs : boundaryMs
  const delegation = delegationOf(scene)
  const counted = {
    ts: scene.hasTs ? inUnit(stamp, unitFor(scene)) : undefined,
    firstMessageTS: createdMs,
    lastMessageTS: lastActivityMs,
    messagesNum: total(sessions, session => session.messages),
    interactionsNum: draw.some(0.9, interactions),
    sessionsNum: sessions.length,
    totalUserInteractions: draw.some(0.8, interactions),
    convoTimeSeconds: Math.round(talkedMs / SECOND),
    ratingFrom5: draw.made(0.25, () => draw.int(1, 5)),
    averageLatency: draw.made(0.8, () => draw.decimal(350, 4_200, 3)),
    // 0 is how the vendor writes "never".
    lastViewed: draw.some(0.6, draw.chance(0.3) ? 0 : Math.min(asOfMs, lastActivityMs + draw.int(0, DAY))),
    delegatedAt: draw.some(0.15, createdMs),
    resolvedAt: resolvedMs ?? null,
    reopenedAt: reopenedMs,
    hotScore: draw.made(0.5, () => draw.int(0, 100)),
    leadScore: draw.chance(0.6) ? 0 : draw.decimal(0, 100, 1),
    funnelLastEvaluated: draw.some(0.3, Math.min(asOfMs, lastActivityMs + draw.int(0, MINUTE))),
  }
  return delegation ? { ...counted, delegatedAt: delegation.ms } : counted
}
