// Organization records (section 2.7) and their teams (2.8), with every documented field.
import { canary } from './agents/secret-bearing.ts'
import { clientsAt, type Organization, organizationName } from './organizations.ts'
import { Draw, PURPOSE } from './random.ts'
import { STAFF, type StaffTeam, TEAMS } from './staff.ts'

interface Recorded {
  organization: Organization
  seed: number
  workspaceId: string
  agentIds: readonly string[]
  nowMs: number
}

interface TeamRecord {
  ID: string
  orgId: string
  key: string
  label: string
  description: string
  memberIds: string[]
  /** Milliseconds. */
  ts: number
  lastModified: number
}

const drawOf = ({ seed, organization }: Pick<Recorded, 'seed' | 'organization'>): Draw =>
  new Draw(seed, organization.number, PURPOSE.organizationRecord)

/** Time of the last change so far. */
const modifiedMs = ({ createdMs, updatedMs }: Organization, nowMs: number): number =>
  nowMs >= updatedMs ? updatedMs : createdMs

export function teamRecords(recorded: Omit<Recorded, 'workspaceId' | 'agentIds'>): TeamRecord[] {
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
    lastModified: modifiedMs(organization, nowMs),
  }))
}

function teamsOf({ id, number }: Organization, draw: Draw): StaffTeam[] {
  const permanent = TEAMS.filter(({ organizationId }) => organizationId === id)
  if (number < 0) return permanent
  const names = ['Front desk', 'Back office', 'Night shift', 'Billing']
  return draw.several(names, 3).map(label => ({
    id: `team_${draw.hex(12)}`,
    key: label.toLowerCase().replace(' ', '-'),
    label,
  }))
}

export function organizationRecord(recorded: Recorded): Record<string, unknown> {
  const { organization, workspaceId, nowMs } = recorded
  const name = organizationName(organization, nowMs)
  const teams = teamRecords(recorded).map(({ ID, key, label, description, orgId }) => ({
    ID,
    key,
    label,
    description,
    orgId,
  }))
  const draw = drawOf(recorded)
  return {
    ID: organization.id,
    firebaseUid: `fb_${draw.hex(20)}`,
    agencyId: workspaceId,
    userId: `user_${draw.hex(8)}`,
    ownerID: workspaceId,
    orgId: organization.id,
    workspaceId,
    name,
    email: `office${draw.int(100, 9_999)}@example.org`,
    squarePhotoURL: `https://cdn.example.com/orgs/${draw.hex(8)}.png`,
    dashboardUsername: `office_${draw.hex(6)}`,
    ...secrets(organization.number),
    ...access(draw, recorded),
    ...classification(draw, organization, nowMs),
    ...habits(draw),
    teams,
    onboardingState: onboarding(draw, name, recorded.agentIds),
  }
}

const secrets = (number: number) => ({
  dashboardPassword: canary('dashboardPassword', number),
  magicCode: canary('magicCode', number),
  usedSecret: canary('usedSecret', number),
  FB_PUSH_TOKEN: canary('pushToken', number),
})

function access(draw: Draw, { organization, agentIds, nowMs }: Recorded) {
  const widgetIDs = draw.several(agentIds, 2)
  const clients = clientsAt(organization, nowMs).map(({ id }) => id)
  return {
    widgets: widgetIDs.map(id => ({ id, position: 'right', apiKey: canary('widget-apiKey', organization.number) })),
    widgetIDs,
    canAccess: ['conversations', 'analytics'],
    allowedChannels: ['web-chat', 'whatsapp'],
    allowedIntegrations: [],
    clientTabOrder: ['inbox', 'crm'],
    defaultClientAccess: ['conversations'],
    defaultClientTabOrder: ['inbox'],
    adminIDs: [draw.pick(STAFF)[0]],
    supportIDs: clients,
    isAdmin: false,
    isOrgAdmin: true,
    canDelegateChats: draw.chance(0.8),
    canSelfEdit: true,
    allowCreateAgents: draw.chance(0.3),
    hideAdvancedSettings: draw.chance(0.5),
    enableHumanHandoff: true,
    isNewSignup: false,
  }
}

const classification = (draw: Draw, organization: Organization, nowMs: number) => ({
  type: 'client',
  status: draw.pick(['online', 'offline']),
  index: Math.abs(organization.number),
  ts: organization.createdMs,
  lastModified: modifiedMs(organization, nowMs),
  lastEmailSentTS: organization.createdMs,
  lastInvitationTs: Math.floor(organization.createdMs / 1_000),
  signupSource: draw.some(0.5, 'invitation'),
  preferredLanguage: draw.pick(['en', 'de', 'fr']),
  stripeCustomerId: draw.some(0.6, `cus_${draw.hex(14)}`),
  dashboardLayout: 'vertical',
})

const habits = (draw: Draw) => ({
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
