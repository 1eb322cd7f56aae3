// The organizations of the workspace by their ids: those that conversations are handed to, those that come and go, and which
// of them a caller has deleted.
import { DAY, HOUR } from '../../core/time.ts'
import type { WorldEvent } from '../events/traffic.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Organization } from '../organizations.ts'
import { LONGEST_MS, organizationOf, STRETCH_MS } from '../organizations.ts'
import { STAFF } from '../staff.ts'
import { ORGANIZATIONS } from '../teams.ts'

/** A handoff may be as old as the history, and what it went to is older. */
const STANDING_FOR_MS = 400 * DAY

export class OrganizationList {
  private readonly options: ResolvedOptions
  private readonly byId = new Map<string, Organization>()
  /** When callers deleted them. */
  private readonly deleted = new Map<string, number>()
  /** The next stretch whose organization is not in the map. */
  private stretch: number

  constructor(options: ResolvedOptions) {
    this.options = options
    const sinceMs = options.startMs - options.historyDays * DAY
    this.stretch = Math.floor((sinceMs - LONGEST_MS) / STRETCH_MS)
    for (const standing of standingOrganizations(sinceMs - STANDING_FOR_MS)) this.byId.set(standing.id, standing)
  }

  /** Undefined for one that is not there at that time. */
  at(id: string, nowMs: number): Organization | undefined {
    for (; this.stretch * STRETCH_MS <= nowMs; this.stretch++) {
      const organization = organizationOf(this.options.seed, this.stretch)
      this.byId.set(organization.id, organization)
    }
    const found = this.byId.get(id)
    if (found === undefined || this.deleted.has(id)) return undefined
    const { createdMs, deletedMs = Number.POSITIVE_INFINITY } = found
    return nowMs >= createdMs && nowMs < deletedMs ? found : undefined
  }

  /** Deletes one that is there, for good. */
  delete(id: string, nowMs: number): void {
    this.deleted.set(id, nowMs)
  }

  /** Those of the world's events that still happen: to an organization that was deleted nothing does. */
  *spared(events: Iterable<WorldEvent>): Generator<WorldEvent> {
    for (const event of events) {
      // Payloads of conversations are made when they are read.
      const id = event.agentId === undefined ? event.payload.organisationId : undefined
      if (event.createdMs < (this.deleted.get(String(id)) ?? Number.POSITIVE_INFINITY)) yield event
    }
  }
}

/** Clients of the organization at that time. */
export const clientsAt = ({ clients }: Organization, nowMs: number) =>
  clients.filter(({ createdMs, deletedMs = Number.POSITIVE_INFINITY }) => nowMs >= createdMs && nowMs < deletedMs)

function standingOrganizations(createdMs: number): Organization[] {
  return ORGANIZATIONS.map(({ id, name }, index) => ({
    id,
    // Below the stretches, which are counted from the epoch.
    number: -1 - index,
    name,
    newName: name,
    createdMs,
    updatedMs: createdMs + HOUR,
    deletedMs: undefined,
    clients: STAFF.map(([userId, person, email]) => ({
      id: `client_${id}_${userId}`,
      name: person,
      email,
      createdMs,
      updatedMs: undefined,
      deletedMs: undefined,
    })),
  }))
}
