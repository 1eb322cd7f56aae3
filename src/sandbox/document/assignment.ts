// Section 2.10, "Assignment".
import type { Handoff } from '../handoff.ts'
import { handoffOf } from '../handoff.ts'
import type { Draw } from '../random.ts'
import { PURPOSE } from '../random.ts'
import { STAFF } from '../staff.ts'
import type { Delegation } from './delegation.ts'
import { delegationOf } from './delegation.ts'
import { dateText, sentence } from './prose.ts'
import type { Scene } from './scene.ts'
import { drawFor } from './scene.ts'

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

/** Where there is no story, a handoff is told when its session has ended, with all that came of it. */
function handoffs({ seed, index, sessions, story, asOfMs }: Scene) {
  return sessions.flatMap(({ span, endMs }, session) => {
    const handoff = handoffOf({ seed, index, session }, span)
    const told = handoff !== undefined && (story ? handoff.requestedMs <= asOfMs : endMs !== undefined)
    return told ? [element(handoff, { asOfMs, endMs })] : []
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
    // Not in the document, and inside an array's element.
    queuePosition,
  }
}
