// Section 2.10, "Assignment".
import { MINUTE } from '../../core/time.ts'
import { Draw, PURPOSE } from '../random.ts'
import { dateText, sentence } from './prose.ts'
import type { Scene, SeenSession } from './scene.ts'
import { drawFor } from './scene.ts'

const STAFF = [
  ['user_5f2a', 'Sam Rivera', 'sam.rivera@example.com'],
  ['user_81cc', 'Kateřina Dvořáková', 'katerina@example.com'],
  ['user_b07e', 'Yūki "YK" Tanaka', 'yuki.tanaka@example.com'],
] as const
const TEAMS = [
  ['team_01', 'sales'],
  ['team_02', 'support'],
  ['team_03', 'billing-eu'],
] as const

export function assignment(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.assignment)
  return {
    assignedTo: draw.made(0.3, () => assignee(draw, scene)),
    assignedToUsers: draw.made(0.6, () =>
      Array.from({ length: draw.chance(0.5) ? 0 : draw.int(1, 3) }, () => assignee(draw, scene)),
    ),
    handoffHistory: draw.made(0.6, () => handoffs(scene)),
  }
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

/** At most one handoff a session that has ended, so that none is asked for before its session. */
function handoffs({ seed, index, sessions }: Scene) {
  const ended = sessions.filter(session => session.endMs !== undefined)
  return ended.flatMap((session, number) => {
    const draw = new Draw(seed, index, PURPOSE.handoff + number)
    return draw.chance(0.4) ? [handoff(draw, session)] : []
  })
}

function handoff(draw: Draw, { startMs, lastMs }: SeenSession) {
  const requestedAt = startMs + Math.floor((lastMs - startMs) * draw.unit())
  const acceptedAt = Math.min(lastMs, requestedAt + draw.int(1, 30 * MINUTE))
  const teams = draw.several(TEAMS, 2)
  const accepted = draw.chance(0.8)
  return {
    requestedAt,
    acceptedAt: accepted ? acceptedAt : null,
    completedAt: accepted ? lastMs : undefined,
    acceptedBy: accepted ? draw.pick(STAFF)[0] : undefined,
    organizationId: draw.made(0.8, () => draw.pick(['org_alpha', 'org_beta'])),
    requestedTeamKey: draw.some(0.7, teams[0]![1]),
    teamIds: draw.some(
      0.9,
      teams.map(([id]) => id),
    ),
    teamKeys: draw.some(
      0.9,
      teams.map(([, key]) => key),
    ),
    // Not in the document, and inside an array's element.
    queuePosition: draw.made(0.7, () => draw.int(1, 12)),
  }
}
