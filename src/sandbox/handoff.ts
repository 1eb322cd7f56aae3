// The handoff of a session to a person: at most one, within the session, so that none is asked for before it.
import { MINUTE } from '../core/time.ts'
import type { Span } from './exchanges.ts'
import { Draw, PURPOSE } from './random.ts'
import type { StaffMember } from './staff.ts'
import { STAFF } from './staff.ts'
import { ORGANIZATIONS, TEAMS } from './teams.ts'

export interface Handoff {
  requestedMs: number
  /** Undefined: nobody took it. */
  acceptedMs: number | undefined
  acceptedBy: StaffMember | undefined
  organizationId: string | null | undefined
  requestedTeamKey: string | null | undefined
  teamIds: string[] | null | undefined
  teamKeys: string[] | null | undefined
  queuePosition: number | null | undefined
}

export interface SessionKey {
  seed: number
  index: number
  /** Number of the session, from 0. */
  session: number
}

/** Undefined for sessions without one. */
export function handoffOf({ seed, index, session }: SessionKey, { startMs, endMs }: Span): Handoff | undefined {
  const draw = new Draw(seed, index, PURPOSE.handoff + session)
  if (!draw.chance(0.4)) return undefined
  const requestedMs = startMs + Math.floor((endMs - startMs) * draw.unit())
  const acceptedMs = Math.min(endMs, requestedMs + draw.int(1, 30 * MINUTE))
  const teams = draw.several(TEAMS, 2)
  const accepted = draw.chance(0.8)
  return {
    requestedMs,
    acceptedMs: accepted ? acceptedMs : undefined,
    acceptedBy: accepted ? draw.pick(STAFF) : undefined,
    organizationId: draw.made(0.8, () => draw.pick(ORGANIZATIONS).id),
    requestedTeamKey: draw.some(0.7, teams[0]!.key),
    teamIds: draw.some(
      0.9,
      teams.map(({ id }) => id),
    ),
    teamKeys: draw.some(
      0.9,
      teams.map(({ key }) => key),
    ),
    queuePosition: draw.made(0.7, () => draw.int(1, 12)),
  }
}
