// Agents (sections 2.12 and 4.16). The declared fields are identity, status, limits, voice, nodes, the marketplace and the switches that reports
// use; others go to `extra`, and settings among them also to `agent_settings`.
import type { Fields, RecordType } from '../shape.ts'
import { boolean, group, loose, text, time } from '../shape.ts'
import { agentDetails, STARRED_LIST } from './agent-details.ts'
import { handoff, limits, marketplace, nodes, voiceConfig } from './agent-fields.ts'
import type { Resource } from './resource.ts'

const fields: Fields = {
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
  starred: boolean('Starred, as the record says; see `is_starred`'),
  recordChatHistory: boolean('Conversations are recorded'),
  gdprCompliance: boolean('GDPR mode'),
  disableRating: boolean('Rating is off'),
  ...handoff,
  enableNodes: boolean('The agent is made of nodes'),
  webhookUrl: text('Where the agent posts its events', { pii: 'content' }),
  limits,
  voiceConfig,
  advanced: group('Advanced', { serverUrl: text('Address that the agent calls', { pii: 'content' }) }),
  marketplace,
  nodes,
}

export const agent: RecordType = {
  name: 'agent',
  table: 'agents',
  about: 'One row for each agent of the workspace, as the latest search returned it',
  id: { key: 'ID', column: 'agent_id' },
  perAgent: false,
  fields,
  computed: agentDetails(fields),
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
  envelope: ['agents', STARRED_LIST],
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
  // A list may be short, empty or of two states: only the answer to an agent's own export shows that it is gone.
  absence: 'not found',
  landedAs: 'agents',
} as const satisfies Resource
