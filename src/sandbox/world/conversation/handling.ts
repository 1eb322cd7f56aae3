// Section 2.10, "State and handling".
import { MINUTE } from '../../../core/time.ts'
import { type Draw, PURPOSE } from '../random.ts'
import { STAFF, type StaffMember } from '../staff.ts'
import { type Handoff, handoffOf, type Story } from '../story.ts'
import { dateText, prose, sentence } from './locales.ts'
import { drawFor, type Scene } from './scene.ts'

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
  // Always drawn, even if unused: later draws must not change as the conversation continues.
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

/** The fields that the story determines. */
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

// Section 2.10, "Assignment".

export function assignment(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.assignment)
  const delegation = delegationOf(scene)
  const assigned = draw.made(0.3, () => assignee(draw, scene))
  return {
    assignedTo: delegation ? delegated(delegation) : assigned,
    assignedToUsers: draw.made(0.6, () =>
      Array.from({ length: draw.chance(0.5) ? 0 : draw.int(1, 3) }, () => assignee(draw, scene)),
    ),
    handoffHistory: draw.made(0.6, () => handoffs(scene)),
  }
}

function delegated({ ms, to: [userId, name, email] }: Delegation) {
  return { userId, name, email, assignedAt: new Date(ms).toISOString(), status: 'accepted' }
}

function assignee(draw: Draw, { createdMs, locale }: Scene) {
  const [userId, name, email] = draw.pick(STAFF)
  return {
    userId,
    name,
    email,
    photoUrl: draw.made(0.6, () => `https://cdn.example.com/staff/${userId}.webp`),
    note: draw.made(0.4, () => sentence(draw, locale)),
    assignedAt: dateText(draw, createdMs),
    status: draw.pick(['pending', 'accepted', 'declined']),
  }
}

/** Without a story, a handoff appears with all its steps when its session has ended. */
function handoffs({ seed, index, sessions, story, asOfMs }: Scene) {
  return sessions.flatMap(({ span, endMs }, session) => {
    const handoff = handoffOf({ seed, index, session }, span)
    const isShown = handoff !== undefined && (story ? handoff.requestedMs <= asOfMs : endMs !== undefined)
    return isShown ? [element(handoff, { asOfMs, endMs })] : []
  })
}

function element(
  { requestedMs, acceptedMs, acceptedBy, ...others }: Handoff,
  { asOfMs, endMs }: { asOfMs: number; endMs: number | undefined },
) {
  const accepted = acceptedMs !== undefined && acceptedMs <= asOfMs
  const { organizationId, requestedTeamKey, teamIds, teamKeys, queuePosition } = others
  return {
    requestedAt: requestedMs,
    acceptedAt: accepted ? acceptedMs : null,
    completedAt: accepted ? endMs : undefined,
    acceptedBy: accepted ? acceptedBy![0] : undefined,
    organizationId,
    requestedTeamKey,
    teamIds,
    teamKeys,
    // Undocumented, inside an array element.
    queuePosition,
  }
}

// The last handoff of a conversation with a story: several parts of the record use it.

interface Delegation {
  ms: number
  to: StaffMember
  /** Who delegated it. */
  by: StaffMember
}

export function delegationOf({ story, asOfMs, index }: Scene): Delegation | undefined {
  const handoff = story?.courses.findLast(
    ({ handoff }) => (handoff?.acceptedMs ?? Number.POSITIVE_INFINITY) <= asOfMs,
  )?.handoff
  if (handoff === undefined) return undefined
  return { ms: handoff.acceptedMs!, to: handoff.acceptedBy!, by: STAFF[index % STAFF.length]! }
}

/** `state` while a person is requested, or has taken over. */
function handoffState({ story, sessions, asOfMs }: Scene): 'requested_chat' | 'human-chatting' | undefined {
  const open = sessions.at(-1)!.endMs === undefined
  const handoff = open ? story?.courses[sessions.length - 1]?.handoff : undefined
  if (handoff === undefined || handoff.requestedMs > asOfMs) return undefined
  return (handoff.acceptedMs ?? Number.POSITIVE_INFINITY) <= asOfMs ? 'human-chatting' : 'requested_chat'
}
