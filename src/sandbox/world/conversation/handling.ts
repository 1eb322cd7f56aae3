// Section 2.10, "State and handling", and "Assignment".
import { type Draw, PURPOSE } from '../random.ts'
import { STAFF, type StaffMember } from '../staff.ts'
import type { Handoff } from '../story.ts'
import { dateText, prose, sentence } from './locales.ts'
import { drawFor, past, type Scene } from './scene.ts'

const END_REASONS = ['customer-ended-call', 'silence-timed-out', 'assistant-ended', 'inactivity'] as const

export function handling(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.handling)
  const { createdMs, lastActivityMs, asOfMs, resolvedMs, reopenedMs, locale, life } = scene
  const isResolved = resolvedMs !== undefined
  const ended = scene.sessions.at(-1)!.endMs !== undefined
  const delegation = delegationOf(scene)
  const contactIsKnown = draw.chance(0.2)
  const leaves = draw.chance(0.5)
  // Always drawn, even if unused, because later draws must not change as the conversation continues.
  const [resolver, , resolverEmail] = draw.pick(STAFF)
  const endReason = draw.some(0.5, draw.pick(END_REASONS))
  const reopenReason = draw.pick(['new_message', 'manual'])
  return {
    state: draw.some(0.9, ended && leaves ? 'ended_chat' : handoffState(scene)),
    isTyping: draw.some(0.5, false),
    isBlocked: draw.some(0.6, draw.chance(0.02)),
    isTest: draw.some(0.5, draw.chance(0.03)),
    isArchived: draw.some(0.8, scene.archivedMs !== undefined),
    isResolved,
    smbContact: draw.some(0.4, contactIsKnown),
    funnelNotificationSent: past(life.leadMs, asOfMs) !== undefined,
    smbContactName: contactIsKnown ? `${scene.lastName}, ${scene.firstName}` : undefined,
    smbContactRemovedAt: contactIsKnown ? draw.some(0.3, createdMs) : undefined,
    smbLastSeenAt: contactIsKnown ? lastActivityMs : undefined,
    resolvedBy: isResolved ? resolver : undefined,
    resolvedByEmail: isResolved ? resolverEmail : undefined,
    lastResolvedAssigneeId: isResolved ? delegation?.to[0] : undefined,
    reopenReason: reopenedMs === undefined ? undefined : reopenReason,
    delegatedBy: delegation?.by[0],
    requestedTeamKey: lastHandoff(scene)?.requestedTeamKey,
    chatAssignedTo: delegation?.to[0],
    chatAssignedToIds: delegation ? [delegation.to[0]] : draw.some(0.3, []),
    endReason: ended ? endReason : undefined,
    summary: draw.made(0.9, () => prose(draw, locale, draw.logarithmic(700, 2_700))),
    shortSummary: draw.made(0.85, () => sentence(draw, locale)),
    funnelSummary: draw.made(0.4, () => prose(draw, locale, draw.logarithmic(120, 700))),
    humanClaimedAt: delegation?.ms,
    humanLastRepliedAt: delegation && Math.max(delegation.ms, lastActivityMs),
    pendingAiReplyAt: draw.some(0.08, asOfMs),
    hotLabel: draw.made(0.5, () => draw.pick(['hot', 'warm', 'cold'])),
  }
}

export function assignment(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.assignment)
  const delegation = delegationOf(scene)
  const handoffHistory = draw.made(0.6, () => handoffs(scene))
  // Others are assigned during the first session, while people are at work; the record shows them from its end on.
  const { endMs, staffing } = scene.life.sessions[0]!
  const isAssigned = draw.chance(staffing) && endMs <= scene.asOfMs
  const others = isAssigned ? draw.int(1, 3) : 0
  return {
    assignedTo: delegation ? delegated(delegation) : draw.made(isAssigned ? 0.2 : 0, () => assignee(draw, scene)),
    assignedToUsers: draw.made(0.6, () => Array.from({ length: others }, () => assignee(draw, scene))),
    handoffHistory,
  }
}

const delegated = ({ ms, to: [userId, name, email] }: Delegation) => ({
  ...{ userId, name, email },
  ...{ assignedAt: new Date(ms).toISOString(), status: 'accepted' },
})

function assignee(draw: Draw, { life, locale }: Scene) {
  const [userId, name, email] = draw.pick(STAFF)
  const { startMs, endMs } = life.sessions[0]!
  return {
    userId,
    name,
    email,
    photoUrl: draw.made(0.6, () => `https://cdn.example.com/staff/${userId}.webp`),
    note: draw.made(0.4, () => sentence(draw, locale)),
    assignedAt: dateText(draw, startMs + draw.int(0, endMs - startMs)),
    status: draw.pick(['pending', 'accepted', 'declined']),
  }
}

const handoffs = ({ sessions, life, asOfMs }: Scene) =>
  sessions.flatMap(({ endMs }, session) => {
    const handoff = life.courses[session]!.handoff
    return handoff === undefined || handoff.requestedMs > asOfMs ? [] : [element(handoff, asOfMs, endMs)]
  })

function element(handoff: Handoff, asOfMs: number, endMs?: number) {
  const { requestedMs, acceptedMs, acceptedBy, abandonedMs, ...others } = handoff
  const acceptedAt = past(acceptedMs, asOfMs)
  return {
    requestedAt: requestedMs,
    acceptedAt: acceptedAt ?? null,
    completedAt: acceptedAt === undefined ? past(abandonedMs, asOfMs) : endMs,
    acceptedBy: acceptedAt === undefined ? undefined : acceptedBy![0],
    ...others,
  }
}

interface Delegation {
  ms: number
  to: StaffMember
  /** The staff member who delegated it. */
  by: StaffMember
}

/** Returns the last accepted handoff, which several parts of the record use. */
export function delegationOf({ life, asOfMs, index }: Scene): Delegation | undefined {
  const handoff = life.courses.findLast(({ handoff }) => past(handoff?.acceptedMs, asOfMs) !== undefined)?.handoff
  if (handoff === undefined) return undefined
  return { ms: handoff.acceptedMs!, to: handoff.acceptedBy!, by: STAFF[index % STAFF.length]! }
}

const lastHandoff = ({ life, asOfMs }: Scene): Handoff | undefined =>
  life.courses.findLast(({ handoff }) => past(handoff?.requestedMs, asOfMs) !== undefined)?.handoff

/** Returns the `state` of a chat that the contact has not left: a person is requested in its last session, or has taken over. */
function handoffState({ life, sessions, asOfMs }: Scene) {
  const handoff = life.courses[sessions.length - 1]!.handoff
  if (handoff === undefined || handoff.requestedMs > asOfMs) return 'ai-chatting'
  if (past(handoff.abandonedMs, asOfMs) !== undefined) return 'ended_chat'
  return past(handoff.acceptedMs, asOfMs) === undefined ? 'requested_chat' : 'human-chatting'
}
