// The workspace's organizations and clients over time: permanent ones, to which conversations are handed, and others that are
// created and, mostly, deleted later.
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
  /** Undefined for a client that is never deleted, or only together with its organization. */
  deletedMs: number | undefined
}

export interface Organization {
  id: string
  /** Unique number; the record's draws depend on it. */
  number: number
  name: string
  /** Its name from `updatedMs` on. */
  newName: string
  createdMs: number
  updatedMs: number
  deletedMs: number | undefined
  clients: Client[]
}

export type Change = 'created' | 'updated' | 'deleted'

/** A change of `client` or, if that is undefined, of the organization. When an organization is deleted, its clients get no events. */
export interface OrganizationChange {
  ms: number
  change: Change
  organization: Organization
  client: Client | undefined
}

/** One organization is created in each interval of this length. */
const INTERVAL_MS = 2 * DAY
/** Upper bound for the time from the start of an organization's interval to the organization's last change. */
const LONGEST_MS = INTERVAL_MS + 21 * DAY

const NAMES = ['Harbor Dental', 'Müller & Söhne', 'Sakura Travel', 'Café "Le Départ"', 'Northwind', 'Initech'] as const
const PEOPLE = ['Noa Berg', 'Çağla Öz', '山田 太郎', "Siobhan O'Hara", 'Ada Obi'] as const

/** Changes of organizations and clients in a time range, unordered. */
export function organizationChanges(seed: number, afterMs: number, untilMs: number): OrganizationChange[] {
  const changes: OrganizationChange[] = []
  const first = Math.floor((afterMs - LONGEST_MS) / INTERVAL_MS)
  for (let interval = first; interval * INTERVAL_MS <= untilMs; interval++) {
    const all = changesOf(organizationOf(seed, interval))
    changes.push(...all.filter(({ ms }) => ms > afterMs && ms <= untilMs))
  }
  return changes
}

/** The organization's name at that time. */
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

/** The organization of that interval, counted from the epoch. */
function organizationOf(seed: number, interval: number): Organization {
  const draw = new Draw(seed, interval, PURPOSE.organization)
  const createdMs = Math.floor((interval + draw.unit()) * INTERVAL_MS)
  const name = draw.pick(NAMES)
  const updatedMs = createdMs + draw.logarithmic(HOUR, 5 * DAY)
  const goneMs = updatedMs + draw.logarithmic(3 * DAY, 15 * DAY)
  const id = `org_${draw.hex(16)}`
  const clients = Array.from({ length: draw.int(1, 3) }, () => clientOf(draw, createdMs))
  return {
    id,
    number: interval,
    name,
    newName: `${name} ${draw.pick(['Group', 'EU', '2.0'])}`,
    createdMs,
    updatedMs,
    deletedMs: draw.chance(0.6) ? goneMs : undefined,
    clients,
  }
}

/** All changes of a client precede the deletion of its organization. */
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

/** Permanent organizations are older than the history, because old handoffs refer to them. */
const PERMANENT_FOR_MS = 400 * DAY

export class OrganizationList {
  private readonly options: ResolvedOptions
  private readonly byId = new Map<string, Organization>()
  /** When callers deleted an organization, by id. */
  private readonly deleted: ReadonlyMap<string, number>
  /** The first interval whose organization is not in `byId` yet. */
  private interval: number

  constructor(options: ResolvedOptions, deleted: ReadonlyMap<string, number> = new Map()) {
    this.options = options
    this.deleted = deleted
    const sinceMs = options.startMs - options.historyDays * DAY
    this.interval = Math.floor((sinceMs - LONGEST_MS) / INTERVAL_MS)
    for (const permanent of permanentOrganizations(sinceMs - PERMANENT_FOR_MS)) this.byId.set(permanent.id, permanent)
  }

  /** The organization; undefined if it does not exist at that time. */
  at(id: string, nowMs: number): Organization | undefined {
    this.reach(nowMs)
    const found = this.byId.get(id)
    return found && this.exists(found, nowMs) ? found : undefined
  }

  /** Ids of the organizations that exist at that time. */
  ids(nowMs: number): string[] {
    this.reach(nowMs)
    return [...this.byId.values()].filter(found => this.exists(found, nowMs)).map(({ id }) => id)
  }

  private reach(nowMs: number): void {
    for (; this.interval * INTERVAL_MS <= nowMs; this.interval++) {
      const organization = organizationOf(this.options.seed, this.interval)
      this.byId.set(organization.id, organization)
    }
  }

  private exists({ id, createdMs, deletedMs = Number.POSITIVE_INFINITY }: Organization, nowMs: number): boolean {
    return !this.deleted.has(id) && nowMs >= createdMs && nowMs < deletedMs
  }

  /** Drops events of organizations that callers have deleted. */
  *remaining(events: Iterable<WorldEvent>): Generator<WorldEvent> {
    for (const event of events) {
      // Only events of organizations and clients have no agent. Reading the payload of another event would build that payload.
      const id = event.agentId === undefined ? event.payload.organisationId : undefined
      if (event.createdMs < (this.deleted.get(String(id)) ?? Number.POSITIVE_INFINITY)) yield event
    }
  }
}

/** Clients of the organization at that time. */
export const clientsAt = ({ clients }: Organization, nowMs: number) =>
  clients.filter(({ createdMs, deletedMs = Number.POSITIVE_INFINITY }) => nowMs >= createdMs && nowMs < deletedMs)

function permanentOrganizations(createdMs: number): Organization[] {
  return ORGANIZATIONS.map(({ id, name }, index) => ({
    id,
    // Negative: intervals count from the epoch.
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
