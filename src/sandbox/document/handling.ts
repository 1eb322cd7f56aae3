// Section 2.10, "State and handling".
import { MINUTE } from '../../core/time.ts'
import { PURPOSE } from '../random.ts'
import type { Story } from '../story.ts'
import { delegationOf, handoffState } from './delegation.ts'
import { prose, sentence } from './prose.ts'
import type { Scene } from './scene.ts'
import { drawFor } from './scene.ts'

const STATES = ['ai-chatting', 'ai-chatting', 'requested_chat', 'human-chatting'] as const
const END_REASONS = ['customer-ended-call', 'silence-timed-out', 'assistant-ended', 'inactivity'] as const
const TEAM_KEYS = ['sales', 'support', 'billing-eu'] as const

export function handling(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.handling)
  const { createdMs, lastActivityMs, asOfMs, resolvedMs, reopenedMs, locale } = scene
  const isResolved = resolvedMs !== undefined
  const ended = scene.sessions.at(-1)!.endMs !== undefined
  const resolver = `user_${draw.hex(12)}`
  const contactIsKnown = draw.chance(0.2)
  const claimedMs = Math.min(lastActivityMs, createdMs + draw.int(1, 20) * MINUTE)
  // Drawn whether they are told or not: what is drawn after them must not change when the conversation goes on.
  const openState = draw.pick(STATES)
  const endedState = draw.chance(0.5) ? 'ended_chat' : openState
  const reopenReason = draw.pick(['new_message', 'manual'])
  const resolvedByEmail = draw.some(0.8, 'agent.smith@example.com')
  const lastResolvedAssigneeId = draw.some(0.5, resolver)
  const endReason = draw.some(0.5, draw.pick(END_REASONS))
  const handled = {
    state: draw.some(0.9, ended ? endedState : openState),
    isTyping: draw.some(0.5, false),
    isBlocked: draw.some(0.6, draw.chance(0.02)),
    isTest: draw.some(0.5, draw.chance(0.03)),
    isArchived: draw.some(0.8, scene.archivedMs !== undefined),
    isResolved,
    smbContact: draw.some(0.4, contactIsKnown),
    funnelNotificationSent: draw.chance(0.1),
    smbContactName: contactIsKnown ? `${scene.lastName}, ${scene.firstName}` : undefined,
    smbContactRemovedAt: contactIsKnown ? draw.some(0.3, createdMs) : undefined,
    smbLastSeenAt: contactIsKnown ? lastActivityMs : undefined,
    resolvedBy: isResolved ? resolver : undefined,
    resolvedByEmail: isResolved ? resolvedByEmail : undefined,
    lastResolvedAssigneeId: isResolved ? lastResolvedAssigneeId : undefined,
    reopenReason: reopenedMs === undefined ? undefined : reopenReason,
    delegatedBy: draw.made(0.15, () => `user_${draw.hex(12)}`),
    requestedTeamKey: draw.made(0.2, () => draw.pick(TEAM_KEYS)),
    chatAssignedTo: draw.made(0.3, () => `user_${draw.hex(12)}`),
    chatAssignedToIds: draw.some(0.5, draw.chance(0.5) ? [] : [`user_${draw.hex(12)}`, `user_${draw.hex(12)}`]),
    endReason: ended ? endReason : undefined,
    summary: draw.made(0.9, () => prose(draw, locale, draw.logarithmic(700, 2_700))),
    shortSummary: draw.made(0.85, () => sentence(draw, locale)),
    funnelSummary: draw.made(0.4, () => prose(draw, locale, draw.logarithmic(120, 700))),
    humanClaimedAt: draw.some(0.2, claimedMs),
    humanLastRepliedAt: draw.some(0.2, lastActivityMs),
    pendingAiReplyAt: draw.some(0.08, asOfMs),
    hotLabel: draw.made(0.5, () => draw.pick(['hot', 'warm', 'cold'])),
  }
  return scene.story ? { ...handled, ...developed(scene, scene.story) } : handled
}

/** What of it the story settles; the rest is as it was drawn. */
function developed(scene: Scene, { leadMs }: Story) {
  const ended = scene.sessions.at(-1)!.endMs !== undefined
  const delegation = delegationOf(scene)
  return {
    ...(!ended && { state: handoffState(scene) ?? 'ai-chatting' }),
    ...(leadMs !== undefined && { funnelNotificationSent: leadMs <= scene.asOfMs }),
    ...(delegation && {
      delegatedBy: delegation.by[0],
      chatAssignedTo: delegation.to[0],
      chatAssignedToIds: [delegation.to[0]],
      humanClaimedAt: delegation.ms,
    }),
  }
}
