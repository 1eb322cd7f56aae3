// Agents (sections 2.12 and 4.16). The declared fields are identity, status, limits and the switches that reports use; others go to `extra`.
import type { RecordType } from '../shape.ts'
import { boolean, group, loose, number, text, time } from '../shape.ts'
import type { Resource } from './resource.ts'

const limit = (about: string, unit?: string) => number(about, unit ? { unit } : {})

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
    ownerID: text('Id of the owner'),
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
    webhookUrl: text('Where the agent posts its events'),
    limits: group('Limits of the agent', {
      maxInteractionsPerUserId: limit('Interactions a user', 'interactions'),
      enableTextIpRateLimit: boolean('Text interactions are limited by IP address'),
      maxTextInteractionsPerIp: limit('Text interactions an IP address', 'interactions'),
      textIpRateLimitWindowHours: limit('Window of that limit', 'h'),
      maxAnnualCreditsUsage: limit('Credits a year', 'credits'),
      maxMonthlyCreditsUsage: limit('Credits a month', 'credits'),
      maxMessages: limit('Messages kept'),
      maxMessagesRetentionDays: limit('Messages are purged after', 'd'),
      inactiveChatRetentionDays: limit('Inactive conversations are purged after', 'd'),
      analyticsRetentionDays: limit('Analytics are purged after', 'd'),
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
