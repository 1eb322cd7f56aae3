// The organizations of the workspace and their clients, through time: those that conversations are handed to, which stay, and
// others, which come and mostly go again.
import { DAY, HOUR, MINUTE } from '../../core/time.ts'
import type { WorldEvent } from '../events/event-types.ts'
import type { ResolvedOptions } from '../options.ts'
import { Draw, PURPOSE } from './random.ts'
import { ORGANIZATIONS, STAFF } from './staff.ts'

interface Client {
  id: string
  name: string
  email: string
  createdMs: number
  updatedMs: number | undefined
  /** Deleted by itself; undefined for one that stays, or goes with its organization. */
  deletedMs: number | undefined
}

export interface Organization {
  id: string
  /** Its own among all organizations: its record is drawn by it. */
  number: number
  name: string
  /** What it is called from `updatedMs` on. */
  newName: string
  createdMs: number
  updatedMs: number
  deletedMs: number | undefined
  clients: Client[]
}

export type Change = 'created' | 'updated' | 'deleted'

/** `client` undefined: the organization itself. Deleting an organization deletes its clients, and that is not told of each. */
export interface OrganizationChange {
  ms: number
  change: Change
  organization: Organization
  client: Client | undefined
}

/** One organization comes in each stretch of so many days. */
const STRETCH_MS = 2 * DAY
/** Nothing happens to one longer than that after its stretch began. */
const LONGEST_MS = STRETCH_MS + 21 * DAY

const NAMES = ['Harbor Dental', 'Müller & Söhne', 'Sakura Travel', 'Café "Le Départ"', 'Northwind', 'Initech'] as const
const PEOPLE = ['Noa Berg', 'Çağla Öz', '山田 太郎', "Siobhan O'Hara", 'Ada Obi'] as const

/** Changes of organizations and clients in a stretch of time, in no order. */
export function organizationChanges(seed: number, afterMs: number, untilMs: number): OrganizationChange[] {
  const changes: OrganizationChange[] = []
  const first = Math.floor((afterMs - LONGEST_MS) / STRETCH_MS)
  for (let stretch = first; stretch * STRETCH_MS <= untilMs; stretch++) {
    const all = changesOf(organizationOf(seed, stretch))
    changes.push(...all.filter(({ ms }) => ms > afterMs && ms <= untilMs))
  }
  return changes
}

/** What the organization is called at that time. */
export const organizationName = ({ name, newName, updatedMs }: Organization, nowMs: number): string =>
  nowMs >= updatedMs ? newName : name

function changesOf(organization: Organization): OrganizationChange[] {
  return [undefined, ...organization.clients].flatMap(client => {
    const { createdMs, updatedMs, deletedMs } = client ?? organization
    const times = { created: createdMs, updated: updatedMs, deleted: deletedMs }
    return Object.entries(times).flatMap(([change, ms]) =>
      ms === undefined ? [] : [{ ms, change: change as Change, organization, client }],
    )
  })
}

/** The organization that comes in that stretch, counted from the epoch. */
function organizationOf(seed: number, stretch: number): Organization {
  const draw = new Draw(seed, stretch, PURPOSE.organization)
  const createdMs = Math.floor((stretch + draw.unit()) * STRETCH_MS)
  const name = draw.pick(NAMES)
  const updatedMs = createdMs + draw.logarithmic(HOUR, 5 * DAY)
  const goneMs = updatedMs + draw.logarithmic(3 * DAY, 15 * DAY)
  const id = `org_${draw.hex(16)}`
  const clients = Array.from({ length: draw.int(1, 3) }, () => clientOf(draw, createdMs))
  return {
    id,
    number: stretch,
    name,
    newName: `${name} ${draw.pick(['Group', 'EU', '2.0'])}`,
    createdMs,
    updatedMs,
    deletedMs: draw.chance(0.6) ? goneMs : undefined,
    clients,
  }
}

/** All that happens to a client happens before its organization can be gone. */
function clientOf(draw: Draw, organizationMs: number): Client {
  const createdMs = organizationMs + draw.logarithmic(5 * MINUTE, 12 * HOUR)
  const updatedMs = createdMs + draw.logarithmic(HOUR, DAY)
  const deletedMs = updatedMs + draw.logarithmic(HOUR, DAY)
  return {
    id: `client_${draw.hex(16)}`,
    name: draw.pick(PEOPLE),
    email: `client${draw.int(100, 9_999)}@example.org`,
    createdMs,
    updatedMs: draw.chance(0.6) ? updatedMs : undefined,
    deletedMs: draw.chance(0.3) ? deletedMs : undefined,
  }
}

// The organizations of the workspace by their ids: those that conversations are handed to, those that come and go, and which
// of them a caller has deleted.

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
