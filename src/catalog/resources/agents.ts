// Agents (sections 2.12 and 4.16). The declared fields are identity, status, limits, voice, nodes, the marketplace and
// the switches that reports use; others go to `extra`, and settings among them also to `agent_settings`. The document
// states no types inside groups, so a value of another shape is expected and goes to `extra`.
import {
  any,
  boolean,
  count,
  type Fields,
  group,
  lift,
  loose,
  moment,
  number,
  objects,
  type RecordType,
  text,
  texts,
  time,
} from '../shape.ts'
import { agentDetails, STARRED_LIST } from './agent-details.ts'
import type { Resource } from './resource.ts'

const interactions = { unit: 'interactions' }
const credits = { unit: 'credits' }
const days = { unit: 'd' }

export const limits = group('Limits of the agent', {
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
})

export const voiceConfig = group('Voice', {
  transcriber: group('Speech to text', {
    provider: text('Provider that transcribes speech', { pii: 'word' }),
    modelId: text('Model that transcribes speech', { pii: 'code' }),
    language: text('Language that is transcribed, e.g. en-US', { pii: 'word' }),
    patienceFactor: number('Patience with pauses'),
    utteranceThreshold: number('Threshold of an utterance; unit not stated'),
    inputVoiceEnhancer: any('Enhancement of the incoming voice, as sent', { pii: 'content' }),
    speechConfig: group('Format of the incoming speech', {
      format: text('Format of the incoming speech, e.g. pcm_s16le', { pii: 'word' }),
      sampleRate: number('Samples a second'),
      language: text('Language in the format of the incoming speech', { pii: 'word' }),
    }),
  }),
  speechGen: group('Text to speech', {
    provider: text('Provider of the voice', { pii: 'word' }),
    modelId: text('Model of the voice', { pii: 'code' }),
    voiceId: text('Id of the voice at its provider'),
    language: text('Language of the voice', { pii: 'word' }),
    region: text("Region of the voice's provider", { pii: 'word' }),
    highAudioQuality: boolean('High audio quality'),
    backgroundNoise: any('Background noise of the voice, as sent', { pii: 'content' }),
    backChannelling: boolean('Says short words such as "mhm" while it listens'),
    backchannelInterval: number('Interval of these words; unit not stated'),
  }),
  config: group('Calls', {
    recordAudio: boolean('Calls are recorded'),
    backgroundNoise: any('Background noise of calls, as sent', { pii: 'content' }),
    enableWebCalling: boolean('Calls from the web are possible'),
    enableVoiceUiPresenter: boolean('The voice presenter is on'),
  }),
})

/** Human handoff. */
export const handoff = {
  disableHumanHandoff: boolean('Handoff to people is off'),
  alwaysShowHandoff: boolean('Handoff is always offered'),
  manualControl: boolean('People answer, not the AI'),
  showHandoffEvenIfOffline: boolean('Handoff is offered when nobody is online'),
  persistHandoffOnRefresh: boolean('A handoff outlives a reload of the page'),
  blockInputDuringHandoffRequest: boolean('Visitors cannot write while a person is requested'),
}

export const marketplace = group('Marketplace', {
  enabled: boolean('Listed in the marketplace'),
  priceUSD: number('Price in the marketplace', { unit: 'USD' }),
  category: text('Category in the marketplace', { pii: 'word' }),
  creatorDisplayName: text('Name of its creator in the marketplace', { pii: 'staff' }),
  shortDescription: text('Short description in the marketplace', { pii: 'content' }),
  version: text('Version in the marketplace', { pii: 'label' }),
  demoUrl: text('Demo', { pii: 'content' }),
  videoUrl: text('Video', { pii: 'content' }),
  supportEmail: text('Address for support', { pii: 'staff' }),
  listedAt: moment('When it was listed, as sent', 'listed_at', { column: 'listed_at_text' }),
  updatedAt: moment('When the entry changed, as sent', 'updated_at', { column: 'updated_at_text' }),
  allowCanvasPreview: boolean('Buyers can preview its canvas'),
  allowTryAgent: boolean('It can be tried'),
  likeCount: count('Likes'),
  downloadCount: count('Downloads'),
})

const MODEL_KEYS = ['modelId', 'model', 'modelName', 'id']

const AS_SENT = { pii: 'content' } as const

export const nodes = objects(
  'One row for each node of the agent',
  'agent_nodes',
  {
    id: text('Id of the node', { column: 'node_id' }),
    name: text('Name'),
    description: text('Description', { pii: 'content' }),
    type: text('Type', { pii: 'word' }),
    language: text('Language', { pii: 'word' }),
    isGlobal: boolean('Reachable from every node'),
    instructions: text('Instructions to the AI', AS_SENT),
    voiceInstructions: text('Instructions to the voice', AS_SENT),
    llmConfig: any('Settings of the language model, as sent', {
      ...AS_SENT,
      lift: [
        lift('llm_model', 'text', MODEL_KEYS, 'Language model', { orSelf: 'scalar', pii: 'code' }),
        lift('llm_temperature', 'number', ['temperature'], 'Temperature of the language model'),
      ],
    }),
    routerLlmConfig: any('Settings of the language model that chooses the next node, as sent', {
      ...AS_SENT,
      lift: [
        lift('router_llm_model', 'text', MODEL_KEYS, 'Language model that chooses the next node', {
          ...{ orSelf: 'scalar', pii: 'code' },
        }),
      ],
    }),
    toolUseBias: number('Bias towards the use of tools'),
    autoRerouter: boolean('Chooses the next node by itself'),
    kb: any('Knowledge base, as sent', AS_SENT),
    conditionData: any('Condition, as sent', AS_SENT),
    preStart: any('What happens before it starts, as sent', AS_SENT),
    startConfig: any('How it starts, as sent', AS_SENT),
    toolsSettings: any('Settings of its tools, as sent', AS_SENT),
    mcpServers: any('MCP servers, as sent', AS_SENT),
    childrenNodes: objects('One row for each way from a node to the next one', 'agent_node_edges', {
      nodeId: text('Id of the next node, `node_id` of its row in `agent_nodes`', { column: 'child_node_id' }),
      condition: text('When the conversation goes there', AS_SENT),
    }),
    toolsIds: texts('Tools that a node may use', 'agent_node_tools', 'tool_id'),
  },
  { id: { key: 'id', column: 'node_id' } },
)

const fields: Fields = {
  ID: text('Id of the agent', { column: 'agent_id' }),
  title: text('Title'),
  description: text('Description', { pii: 'content' }),
  ownerID: text('Id of the owner', { pii: 'staff' }),
  storageID: text('Id of the storage'),
  theme: text('Theme', { pii: 'word' }),
  agentPlatform: text('Platform: vg or vf', { pii: 'word' }),
  region: text('Region, e.g. eu', { pii: 'word' }),
  createdAtUNIX: time('When it was created', { column: 'created_at' }),
  lastModified: time('Last change'),
  disabled: boolean('Disabled'),
  isDeployed: boolean('Deployed'),
  deployed: loose('Deployment, as sent', { pii: 'word' }),
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
  fields,
  computed: agentDetails(fields),
  // A listing has no time of change, so the later listing wins.
  deletable: true,
  hasOtherFields: true,
}

export const AGENTS = {
  stream: 'agents',
  answer: 'agent search',
  path: '/v3/agents/search',
  parent: null,
  paging: ({ workspaceId, page, limit }) => ({ workspaceId, page, limit, sortBy: 'firstCreated' }),
  // The vendor may return starred agents only in the second list, on every page or only on the first.
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
  // A list may be short, empty or inconsistent: only the answer to an agent's own export shows that it is gone.
  absence: 'not found',
  landedAs: 'agents',
} as const satisfies Resource
