// The workspace's organizations and clients over time: permanent ones, to which conversations are handed, and others
// that are created, renamed and usually deleted later.
import { DAY, HOUR, MINUTE } from '../../core/time.ts'
import type { WorldEvent } from '../events/event-types.ts'
import type { ResolvedOptions } from '../options.ts'
import { canary } from './agents/secret-bearing.ts'
import { Draw, PURPOSE } from './random.ts'
import { ORGANIZATIONS, STAFF, TEAMS } from './staff.ts'

interface Lifetime {
  createdMs: number
  updatedMs: number | undefined
  /** Undefined for a client that is deleted only together with its organization. */
  deletedMs: number | undefined
}

interface Client extends Lifetime {
  id: string
  name: string
  email: string
}

export interface Organization extends Lifetime {
  id: string
  /** Unique number; the record's draws depend on it. */
  number: number
  name: string
  /** Name from `updatedMs` on. */
  newName: string
  clients: Client[]
}

export type Change = 'created' | 'updated' | 'deleted'

/** A change of `client` or, if undefined, of the organization. Deleting an organization causes no events of its clients. */
export interface OrganizationChange {
  ms: number
  change: Change
  organization: Organization
  client: Client | undefined
}

/** Length of the interval in which one organization is created. */
const INTERVAL_MS = 2 * DAY
/** Upper bound for the time from the start of an organization's interval to the organization's last change. */
const LONGEST_MS = INTERVAL_MS + 21 * DAY

const NAMES = ['Harbor Dental', 'Müller & Söhne', 'Sakura Travel', 'Café "Le Départ"', 'Northwind', 'Initech'] as const
const PEOPLE = ['Noa Berg', 'Çağla Öz', '山田 太郎', "Siobhan O'Hara", 'Ada Obi'] as const

/** Returns the changes of organizations and clients in a time range, unordered. */
export function organizationChanges(seed: number, afterMs: number, untilMs: number): OrganizationChange[] {
  return temporaryOrganizations(seed, afterMs - LONGEST_MS, untilMs)
    .flatMap(changesOf)
    .filter(({ ms }) => ms > afterMs && ms <= untilMs)
}

function changesOf(organization: Organization): OrganizationChange[] {
  return [undefined, ...organization.clients].flatMap(client => {
    const { createdMs: created, updatedMs: updated, deletedMs: deleted } = client ?? organization
    return Object.entries({ created, updated, deleted }).flatMap(([change, ms]) =>
      ms === undefined ? [] : [{ ms, change: change as Change, organization, client }],
    )
  })
}

/** Returns the organizations of all intervals that overlap the range. */
function temporaryOrganizations(seed: number, fromMs: number, untilMs: number): Organization[] {
  const first = Math.floor(fromMs / INTERVAL_MS)
  const count = Math.max(0, Math.floor(untilMs / INTERVAL_MS) - first + 1)
  return Array.from({ length: count }, (_, place) => organizationOf(seed, first + place))
}

/** Draws the organization of that interval, counted from the epoch. All changes of its client precede its deletion. */
function organizationOf(seed: number, interval: number): Organization {
  const draw = new Draw(seed, interval, PURPOSE.organization)
  const createdMs = Math.floor((interval + draw.unit()) * INTERVAL_MS)
  const name = draw.pick(NAMES)
  const updatedMs = createdMs + draw.logarithmic(HOUR, 5 * DAY)
  const client = {
    id: `client_${draw.hex(16)}`,
    name: draw.pick(PEOPLE),
    email: `client${draw.int(100, 9_999)}@example.org`,
    createdMs: createdMs + 5 * MINUTE,
    updatedMs: createdMs + draw.int(1, 12) * HOUR,
    deletedMs: draw.chance(0.5) ? createdMs + 2 * DAY : undefined,
  }
  return {
    id: `org_${draw.hex(16)}`,
    number: interval,
    name,
    newName: `${name} ${draw.pick(['Group', 'EU', '2.0'])}`,
    createdMs,
    updatedMs,
    deletedMs: draw.chance(0.6) ? updatedMs + draw.int(3, 15) * DAY : undefined,
    clients: [client],
  }
}

/** Permanent organizations are older than the history, because old handoffs refer to them. */
const PERMANENT_FOR_MS = 400 * DAY

const permanentOrganizations = (createdMs: number): Organization[] =>
  ORGANIZATIONS.map(({ id, name }, index) => {
    const lifetime = { createdMs, updatedMs: undefined, deletedMs: undefined }
    const clients = STAFF.map(([userId, person, email]) => ({
      ...{ id: `client_${id}_${userId}`, name: person, email },
      ...lifetime,
    }))
    // Negative: intervals count from the epoch.
    return { id, number: -1 - index, name, newName: name, ...lifetime, clients }
  })

const lives = ({ createdMs, deletedMs = Number.POSITIVE_INFINITY }: Lifetime, nowMs: number): boolean =>
  nowMs >= createdMs && nowMs < deletedMs

export class OrganizationList {
  private readonly options: ResolvedOptions
  /** Times when callers deleted organizations, by id. */
  private readonly deleted: ReadonlyMap<string, number>

  constructor(options: ResolvedOptions, deleted: ReadonlyMap<string, number>) {
    this.options = options
    this.deleted = deleted
  }

  /** Returns the organization; undefined if it does not exist at that time. */
  at(id: string, nowMs: number): Organization | undefined {
    return this.all(nowMs).find(organization => organization.id === id)
  }

  /** Returns the organizations that exist at that time. */
  all(nowMs: number): Organization[] {
    const { seed, startMs, historyDays } = this.options
    const sinceMs = startMs - historyDays * DAY
    const all = [
      ...permanentOrganizations(sinceMs - PERMANENT_FOR_MS),
      ...temporaryOrganizations(seed, sinceMs - LONGEST_MS, nowMs),
    ]
    return all.filter(found => !this.deleted.has(found.id) && lives(found, nowMs))
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

/** Returns the organization's name at that time. */
export const organizationName = ({ name, newName, updatedMs }: Organization, nowMs: number): string =>
  updatedMs !== undefined && nowMs >= updatedMs ? newName : name

/** Returns the clients of the organization at that time. */
export const clientsAt = ({ clients }: Organization, nowMs: number) => clients.filter(client => lives(client, nowMs))

// Organization records (section 2.7) and their teams (2.8).

interface Recorded {
  organization: Organization
  seed: number
  nowMs: number
}

const drawOf = ({ seed, organization }: Recorded): Draw =>
  new Draw(seed, organization.number, PURPOSE.organizationRecord)

/** Returns the time of the last change so far. */
const modifiedMs = ({ organization: { createdMs, updatedMs }, nowMs }: Recorded): number =>
  updatedMs !== undefined && nowMs >= updatedMs ? updatedMs : createdMs

export function teamRecords(recorded: Recorded) {
  const { organization, nowMs } = recorded
  const draw = drawOf(recorded)
  const members = [...STAFF.map(([userId]) => userId), ...clientsAt(organization, nowMs).map(({ id }) => id)]
  return teamsOf(organization, draw).map(({ id, key, label }) => ({
    ID: id,
    orgId: organization.id,
    key,
    label,
    description: `Takes what is about ${label}`,
    memberIds: draw.several(members, 3),
    ts: organization.createdMs,
    lastModified: modifiedMs(recorded),
  }))
}

function teamsOf({ id, number }: Organization, draw: Draw) {
  if (number < 0) return TEAMS.filter(({ organizationId }) => organizationId === id)
  return draw.several(['Front desk', 'Back office', 'Billing'], 3).map(label => {
    return { id: `team_${draw.hex(12)}`, key: label.toLowerCase().replace(' ', '-'), label }
  })
}

export function organizationRecord(
  recorded: Recorded & { workspaceId: string; agentIds: readonly string[] },
): Record<string, unknown> {
  const { organization, workspaceId, agentIds, nowMs } = recorded
  const { id, number, createdMs } = organization
  const draw = drawOf(recorded)
  const name = organizationName(organization, nowMs)
  const widgetIDs = draw.several(agentIds, 2)
  return {
    ID: id,
    firebaseUid: `fb_${draw.hex(20)}`,
    agencyId: workspaceId,
    userId: `user_${draw.hex(8)}`,
    ownerID: workspaceId,
    orgId: id,
    workspaceId,
    name,
    email: `office${draw.int(100, 9_999)}@example.org`,
    squarePhotoURL: `https://cdn.example.com/orgs/${draw.hex(8)}.png`,
    dashboardUsername: `office_${draw.hex(6)}`,
    dashboardPassword: canary('dashboardPassword', number),
    magicCode: canary('magicCode', number),
    usedSecret: canary('usedSecret', number),
    FB_PUSH_TOKEN: canary('pushToken', number),
    widgets: widgetIDs.map(widget => ({ id: widget, position: 'right', apiKey: canary('widget-apiKey', number) })),
    widgetIDs,
    ...access(draw),
    adminIDs: [draw.pick(STAFF)[0]],
    supportIDs: clientsAt(organization, nowMs).map(client => client.id),
    type: 'client',
    status: draw.pick(['online', 'offline']),
    index: Math.abs(number),
    ts: createdMs,
    lastModified: modifiedMs(recorded),
    lastEmailSentTS: createdMs,
    lastInvitationTs: Math.floor(createdMs / 1_000),
    signupSource: draw.some(0.5, 'invitation'),
    preferredLanguage: draw.pick(['en', 'de', 'fr']),
    stripeCustomerId: draw.made(0.6, () => `cus_${draw.hex(14)}`),
    ...habits(draw),
    teams: teamRecords(recorded).map(({ memberIds: _, ts: _ts, lastModified: _ms, ...team }) => team),
    onboardingState: onboarding(draw, name, agentIds),
  }
}

const access = (draw: Draw) => ({
  canAccess: ['conversations', 'analytics'],
  allowedChannels: ['web-chat', 'whatsapp'],
  allowedIntegrations: [],
  clientTabOrder: ['inbox', 'crm'],
  defaultClientAccess: ['conversations'],
  defaultClientTabOrder: ['inbox'],
  isAdmin: false,
  isOrgAdmin: true,
  canDelegateChats: draw.chance(0.8),
  canSelfEdit: true,
  allowCreateAgents: draw.chance(0.3),
  hideAdvancedSettings: draw.chance(0.5),
  enableHumanHandoff: true,
  isNewSignup: false,
})

const habits = (draw: Draw) => ({
  dashboardLayout: 'vertical',
  predefinedTags: ['vip', 'complaint'],
  convoTags: ['vip'],
  cannedResponses: [{ key: 'hi', content: 'Hello, how can I help?' }],
  notificationsSettings: { notifyThrough: 'email', notifyIf: 'all', emailNotifyOnNewLead: draw.chance(0.5) },
  handoff: { maxAssignees: draw.int(1, 5) },
  internal: { hasChangedPassword: draw.chance(0.5) },
  settings: { disableClientAccess: false },
})

const onboarding = (draw: Draw, companyName: string, agentIds: readonly string[]) => ({
  currentStep: 4,
  isCompleted: true,
  completedSteps: [1, 2, 3, 4],
  personalInfo: { fullName: draw.pick(STAFF)[1], companyName, role: 'Owner', industry: 'Services' },
  preferences: { primaryUseCase: 'support', communicationPreferences: ['email'], goals: ['fewer calls'] },
  setupData: { selectedAgents: agentIds.slice(0, 1), customizations: { color: '#336699' } },
})
