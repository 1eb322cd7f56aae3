// Agents (sections 2.12 and 4.16). The declared fields are identity, status, limits and the switches that reports use; others go to `extra`.
import type { RecordType } from '../shape.ts'
import { boolean, count, group, loose, number, text, time } from '../shape.ts'
import type { Resource } from './resource.ts'

const interactions = { unit: 'interactions' }
const credits = { unit: 'credits' }
const days = { unit: 'd' }

export const agent: RecordType = {
  name: 'agent',
  table: 'agents',
  about: 'One row for each agent of the workspace, as the latest search returned it',
  id: { key: 'ID', column: 'agent_id' },
  perAgent: false,
  fields: {
    ID: text('Id of the agent', { column: 'agent_id' }),
    title: text('Title'),
    description: text('Description'),
    ownerID: text('Id of the owner', { pii: 'staff' }),
    storageID: text('Id of the storage'),
    theme: text('Theme'),
    agentPlatform: text('Platform: vg or vf'),
    region: text('Region, e.g. eu'),
    createdAtUNIX: time('When it was created', { column: 'created_at' }),
    lastModified: time('Last change'),
    disabled: boolean('Disabled'),
    isDeployed: boolean('Deployed'),
    deployed: loose('Deployment, as sent'),
    starred: boolean('Starred'),
    recordChatHistory: boolean('Conversations are recorded'),
    gdprCompliance: boolean('GDPR mode'),
    disableRating: boolean('Rating is off'),
    disableHumanHandoff: boolean('Handoff to people is off'),
    alwaysShowHandoff: boolean('Handoff is always offered'),
    manualControl: boolean('People answer, not the AI'),
    enableNodes: boolean('The agent is made of nodes'),
    webhookUrl: text('Where the agent posts its events', { pii: 'content' }),
    limits: group('Limits of the agent', {
      maxInteractionsPerUserId: count('Interactions a user', interactions),
      enableTextIpRateLimit: boolean('Text interactions are limited by IP address'),
      maxTextInteractionsPerIp: count('Text interactions an IP address', interactions),
      textIpRateLimitWindowHours: number('Window of that limit', { unit: 'h' }),
      maxAnnualCreditsUsage: number('Credits a year', credits),
      maxMonthlyCreditsUsage: number('Credits a month', credits),
      maxMessages: count('Messages kept'),
      maxMessagesRetentionDays: number('Messages are purged after', days),
      inactiveChatRetentionDays: number('Inactive conversations are purged after', days),
      analyticsRetentionDays: number('Analytics are purged after', days),
    }),
  },
  derived: [],
  // A listing has no time of change, so the later listing wins.
  modifiedKey: null,
  deletable: true,
  extra: 'rest',
}

export const AGENTS = {
  stream: 'agents',
  answer: 'agent search',
  path: '/v3/agents/search',
  parent: null,
  paging: ({ workspaceId, page, limit }) => ({ workspaceId, page, limit, sortBy: 'firstCreated' }),
  // The vendor may return starred agents only in the second list, on every page or on the first page only.
  envelope: ['agents', 'starredAgents'],
  freshness: 'every sync',
  record: agent,
  secrets: [
    'voiceConfig.transcriber.apiKey',
    'voiceConfig.speechGen.apiKey',
    'advanced.serverUrlSecret',
    'tools[].serverUrlSecret',
    'whatsappToken',
    'SECRET_API_KEY',
    'vapiConfig.privateKey',
  ],
  absence: 'not listed',
  landedAs: 'agents',
} as const satisfies Resource
