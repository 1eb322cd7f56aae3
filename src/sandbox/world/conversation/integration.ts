// Section 2.10, "Nested objects": data from other systems about the conversation.
import { SECOND } from '../../../core/time.ts'
import { type Draw, PURPOSE } from '../random.ts'
import { sentence } from './locales.ts'
import { drawFor, type Scene, total } from './scene.ts'

const NODES = ['greeting', 'qualification', 'booking', 'fallback', 'node_7f3a'] as const

export function integration(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.integration)
  const isCall = scene.channel === 'voice' || scene.channel === 'telephony'
  return {
    externalSession: draw.made(0.2, () => externalSession(draw, scene)),
    ext: isCall ? call(draw, scene) : undefined,
    nodesInfo: draw.made(0.8, () => ({ currentNode: draw.pick(NODES) })),
    voice: isCall ? voice(draw, scene) : undefined,
    detailedCost: draw.made(0.8, () => detailedCost(draw, scene)),
    csat: rating(scene),
    crmAlerts: draw.made(0.5, () => crmAlerts(draw)),
    inboundEngagementState: draw.made(0.35, () => engagement(draw, scene)),
  }
}

/** Returns the survey's answer; null or omitted until it is given. */
function rating(scene: Scene) {
  const { csatMs } = scene.life
  const draw = drawFor(scene, PURPOSE.csat)
  if (csatMs === undefined || csatMs > scene.asOfMs) return draw.chance(0.25) ? null : undefined
  return csat(draw, scene, csatMs)
}

function externalSession(draw: Draw, { lastActivityMs }: Scene) {
  return {
    sessionKey: `ext:${draw.hex(24)}`,
    projectId: draw.hex(24),
    environmentAlias: draw.made(0.8, () => draw.pick(['main', 'production', 'staging'])),
    updatedAt: lastActivityMs,
    resolvedRuntime: draw.pick(['legacy', 'legacy', 'v2']),
  }
}

function call(draw: Draw, { sessions, locale }: Scene) {
  const failed = draw.chance(0.05)
  const seconds = total(sessions, session => session.lastMs - session.startMs) / SECOND
  return {
    cost: draw.decimal(0.01, 1.8, 4),
    callDuration: Math.round(seconds),
    recordingUrl: draw.made(0.8, () => `https://rec.example.com/${draw.hex(32)}.wav`),
    syncRecordingUrl: draw.made(0.3, () => `https://rec.example.com/sync/${draw.hex(32)}.mp3`),
    callerPhoneNumber: `${locale.phonePrefix}${draw.int(1_000, 9_999)}`,
    calleePhoneNumber: '+18005550123',
    callStatus: failed ? 'failed' : draw.pick(['completed', 'ended', 'voicemail']),
    callError: failed ? 'SIP 486: Busy Here' : null,
  }
}

function voice(draw: Draw, { sessions, lastActivityMs }: Scene) {
  return {
    latestSessionId: sessions.at(-1)!.id,
    listenUrl: `wss://listen.example.com/${draw.hex(20)}`,
    // Seconds, unlike most times of the record.
    listenUrlUNIX: Math.floor(lastActivityMs / SECOND),
  }
}

function detailedCost(draw: Draw, { sessions, channel }: Scene) {
  const llmCost = Math.round(total(sessions, session => session.usd) * 1e6) / 1e6
  return {
    totalCreditsConsumed: draw.decimal(0, 40, 3),
    speechGenCost: channel === 'voice' ? draw.decimal(0, 0.5, 5) : 0,
    transcriberCost: draw.some(0.6, channel === 'voice' ? draw.decimal(0, 0.2, 5) : 0),
    llmCost,
    // Undocumented.
    twilioCost: draw.some(0.6, channel === 'telephony' ? draw.decimal(0, 0.3, 4) : 0),
  }
}

function csat(draw: Draw, { channel, locale }: Scene, submittedAt: number) {
  return {
    satisfaction10: draw.decimal(0, 10, 1),
    ease10: draw.made(0.9, () => draw.decimal(0, 10, 2)),
    comment: draw.made(0.5, () => sentence(draw, locale)),
    channel,
    submittedAt,
    surveyVersion: draw.pick([1, 2]),
  }
}

function crmAlerts(draw: Draw) {
  return {
    overdueECD: draw.chance(0.1),
    overdueActivity: draw.chance(0.2),
    staleLead: draw.some(0.9, draw.chance(0.2)),
    responded: draw.chance(0.5),
    newHandoffAssigned: draw.some(0.6, draw.chance(0.1)),
  }
}

function engagement(draw: Draw, { createdMs, lastActivityMs, locale }: Scene) {
  return {
    firstDecisionAt: createdMs,
    lastDecisionAt: lastActivityMs,
    firstDecisionShouldReply: draw.chance(0.9),
    lastDecisionShouldReply: draw.chance(0.8),
    aiOwnedThread: draw.some(0.9, draw.chance(0.7)),
    ignoreThread: draw.chance(0.05),
    lastDecisionReason: draw.made(0.8, () => sentence(draw, locale)),
    lastTriggeredBy: draw.pick(['phrase', 'phrase', 'always', 'mention']),
  }
}
