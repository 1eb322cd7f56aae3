// Organizations (sections 2.7 and 4.13), the names behind ids in conversations and events, and their teams (2.8 and 4.14).
import { DAY } from '../../core/time.ts'
import {
  any,
  boolean,
  type Casing,
  count,
  group,
  number,
  type RecordType,
  type Scalar,
  text,
  texts,
  time,
} from '../shape.ts'
import { type Resource, withRequestedId } from './resource.ts'

const names = (about: string, options: { channel?: Casing } = {}): Scalar =>
  any(`${about}, as sent: a list`, { pii: 'label', ...options })

const organization: RecordType = {
  name: 'organization',
  table: 'organizations',
  about: 'One row for each organization whose id is known, as it was last returned',
  id: { key: 'ID', column: 'organization_id' },
  deletable: true,
  fields: {
    ID: text('Id of the organization', { column: 'organization_id' }),
    name: text('Name'),
    email: text('Email address', { pii: 'staff' }),
    type: text('Kind, e.g. client', { pii: 'word' }),
    status: text('State, e.g. online', { pii: 'word' }),
    firebaseUid: text('Id of its account', { pii: 'staff' }),
    agencyId: text('Id of the agency'),
    userId: text('Id of the user', { pii: 'staff' }),
    ownerID: text('Id of the owner', { pii: 'staff' }),
    orgId: text('Id of the organization, as sent beside its ID', { column: 'org_id' }),
    workspaceId: text('Id of the workspace, as sent', { column: 'reported_workspace_id' }),
    squarePhotoURL: text('Picture', { pii: 'content' }),
    dashboardUsername: text('Name at the dashboard', { pii: 'staff' }),
    dashboardLayout: text('Layout of the dashboard, e.g. vertical', { pii: 'word' }),
    widgets: any('Assigned agents, as sent', { pii: 'content' }),
    widgetIDs: texts('Agents assigned to the organization', 'organization_agents', 'agent_id'),
    adminIDs: texts('Members of the organization, by role: admin or support', 'organization_members', 'user_id', {
      pii: 'staff',
      label: { column: 'role', value: 'admin', about: 'Role: admin or support' },
    }),
    supportIDs: texts('Members of the organization, by role: admin or support', 'organization_members', 'user_id', {
      pii: 'staff',
      label: { column: 'role', value: 'support', about: 'Role: admin or support' },
    }),
    canAccess: names('What it may see'),
    allowedChannels: names('Channels that it may use', { channel: 'as-sent' }),
    allowedIntegrations: names('Integrations that it may use'),
    clientTabOrder: names('Order of the tabs'),
    defaultClientAccess: names('What its clients may see'),
    defaultClientTabOrder: names("Order of its clients' tabs"),
    isAdmin: boolean('Administrator'),
    isOrgAdmin: boolean('Administrator of the organization'),
    canDelegateChats: boolean('May delegate conversations'),
    canSelfEdit: boolean('May edit itself'),
    allowCreateAgents: boolean('May create agents'),
    hideAdvancedSettings: boolean('Advanced settings are hidden'),
    enableHumanHandoff: boolean('Takes handoffs'),
    isNewSignup: boolean('Has just signed up'),
    index: number('Place among the organizations'),
    ts: time('When it was created'),
    lastModified: time('Last change'),
    lastEmailSentTS: time('Last email to it', { column: 'last_email_sent_at' }),
    lastInvitationTs: time('Last invitation', { column: 'last_invitation_at' }),
    signupSource: text('Where it signed up', { pii: 'word' }),
    preferredLanguage: text('Language', { pii: 'word' }),
    stripeCustomerId: text('Id of its customer account', { pii: 'staff' }),
    predefinedTags: names('Tags that it offers'),
    convoTags: names('Tags of its conversations'),
    cannedResponses: any('Answers that are kept ready, as sent', { pii: 'content' }),
    notificationsSettings: group('Notifications', {
      notifyThrough: text('Way, e.g. email', { pii: 'word' }),
      notifyIf: text('Occasion, e.g. all', { pii: 'word' }),
      emailNotifyOnNewLead: boolean('An email for each new lead'),
    }),
    handoff: group('Handoffs', { maxAssignees: count('Most assignees of a conversation') }),
    settings: group('Settings', { disableClientAccess: boolean('Its clients have no access') }),
    internal: any('Of the vendor, as sent', { pii: 'content' }),
    teams: any('Teams, as sent with the organization; see the table teams', { pii: 'staff' }),
    onboardingState: group('Onboarding', {
      currentStep: count('Step'),
      isCompleted: boolean('Completed'),
      completedSteps: names('Steps that are done'),
      personalInfo: any('About the person, as sent', { pii: 'staff' }),
      preferences: any('Preferences, as sent', { pii: 'staff' }),
      setupData: any('What was set up, as sent', { pii: 'content' }),
    }),
  },
  // An answer has no time of change, so the later answer wins.
}

export const ORGANIZATIONS = {
  stream: 'organizations',
  answer: 'organization',
  path: '/v3/orgs/{organizationId}',
  parent: null,
  paging: 'record',
  prepare: withRequestedId('data', 'ID'),
  envelope: ['data'],
  freshness: { everyMs: DAY, changedAt: ['_dirty_since'] },
  record: organization,
  secrets: ['dashboardPassword', 'magicCode', 'usedSecret', 'FB_PUSH_TOKEN'],
  absence: 'not found',
  // No endpoint lists organizations (notes on the API, "Other endpoints").
  ids: { tables: ['conversation_handoffs', 'organizations', 'teams', 'clients'], setting: 'organizations' },
  landedAs: 'org',
} as const satisfies Resource

const team: RecordType = {
  name: 'team',
  table: 'teams',
  about: 'One row for each team of an organization, as the latest list returned it',
  id: { key: 'ID', column: 'team_id' },
  fields: {
    ID: text('Id of the team', { column: 'team_id' }),
    orgId: text('Organization that it belongs to', { column: 'organization_id' }),
    key: text('Key of the team, as handoffs name it', { column: 'team_key' }),
    label: text('Name'),
    description: text('Description', { pii: 'content' }),
    memberIds: texts('Members of the team', 'team_members', 'user_id', { pii: 'staff' }),
    ts: time('When it was created'),
    lastModified: time('Last change'),
  },
}

export const TEAMS = {
  stream: 'teams',
  answer: 'teams',
  path: '/v3/orgs/{organizationId}/teams',
  parent: 'organizations',
  paging: ({ page, limit }) => ({ page, limit }),
  envelope: ['teams'],
  freshness: { everyMs: DAY },
  record: team,
  absence: 'not listed',
  landedAs: 'teams',
} as const satisfies Resource
