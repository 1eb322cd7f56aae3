// An agent record (section 2.12), with every documented group.
import { DAY } from '../../../core/time.ts'
import type { ResolvedOptions } from '../../options.ts'
import { Draw, PURPOSE } from '../random.ts'
import { nodes } from './nodes.ts'
import { canary, channels, voiceConfig } from './secret-bearing.ts'
import { otherTools, type ToolOwner, tools } from './tools.ts'

const TITLES = [
  'Front desk',
  'Support – EU 🇪🇺',
  'Lead qualifier "Nova"',
  '予約アシスタント',
  'Billing & refunds',
  'مساعد المبيعات',
] as const

const STARRED_BELOW = 30

/** Declares only the fields that the sandbox itself reads. */
export interface AgentRecord {
  ID: string
  title: string
  description: string
  starred: boolean
  /** Unix seconds. */
  createdAtUNIX: number
  /** Milliseconds. */
  lastModified: number
  [field: string]: unknown
}

/** `ID` of the agent, counted from 0. */
export function agentId(seed: number, agent: number): string {
  return `agent_${new Draw(seed, agent, PURPOSE.agent).hex(16)}${String(agent + 1).padStart(2, '0')}`
}

export function createAgentRecord(
  { seed, startMs, historyDays, workspaceId }: ResolvedOptions,
  agent: number,
): AgentRecord {
  const draw = new Draw(seed, agent, PURPOSE.agent)
  const ID = agentId(seed, agent)
  const createdMs = Math.floor(startMs - (historyDays + draw.int(1, 300)) * DAY)
  const number = agent < TITLES.length ? '' : ` ${agent + 1}`
  const owner = { agent, agentId: ID, workspaceId, createdMs }
  // Some of them are deleted later: the record then has ids of tools that are gone.
  const others = otherTools(owner, seed, startMs).map(({ id }) => id)
  return {
    ID,
    title: `${TITLES[agent % TITLES.length]}${number}`,
    description: 'Answers visitors, collects contacts, and hands over to a person when asked.',
    ownerID: workspaceId,
    storageID: `storage_${draw.hex(20)}`,
    theme: draw.pick(['light', 'dark', 'brand']),
    agentPlatform: draw.chance(0.8) ? 'vg' : 'vf',
    region: draw.pick(['eu', 'na']),
    createdAtUNIX: Math.floor(createdMs / 1_000),
    lastModified: createdMs + draw.int(0, 300 * DAY),
    disabled: agent > 0 && draw.chance(0.1),
    isDeployed: true,
    deployed: true,
    // Only a few agents are starred, because every search page contains all starred agents.
    starred: agent % 3 === 0 && agent < STARRED_BELOW,
    voiceConfig: voiceConfig(draw, agent),
    ...widget(draw),
    ...conversationModel(draw, agent),
    ...nodesAndTools(draw, owner, others),
    ...channels(draw, agent),
    ...quality(draw, createdMs),
  }
}

function nodesAndTools(draw: Draw, owner: ToolOwner, others: readonly string[]) {
  const { nodes: planned, ...settings } = nodes(draw, owner.agent)
  const { assignedToolsIds, tools: held } = tools(draw, owner)
  const [lookup] = assignedToolsIds as [string]
  return {
    ...settings,
    nodes: planned.map(node => node(lookup, others)),
    assignedToolsIds: [lookup, ...others],
    tools: held,
  }
}

// Section 2.12, "Chat and widget settings" and "Human handoff".

function widget(draw: Draw) {
  return {
    proactiveMessage: draw.pick(['Hi 👋 how can we help?', 'Grüezi!', '']),
    acceptFileUpload: draw.chance(0.5),
    recordChatHistory: true,
    messageDelayMS: draw.int(0, 1_500),
    messageAggregationSeconds: draw.int(0, 10),
    delayBeforeSubmit: 0,
    chatEndMessage: 'This chat has ended. Thank you!',
    aiIntroductionMessage: 'I am an AI assistant.',
    enableAIIntroductionMessage: draw.chance(0.8),
    gdprCompliance: draw.chance(0.6),
    disableRating: false,
    disableFileUpload: false,
    buttonsLayout: 'horizontal',
    bubbleStyle: 'rounded',
    privacyDisclaimer: {
      enabled: true,
      text: 'By chatting you accept our <a href="https://example.com/privacy">privacy notice</a>.',
    },
    ui: { primaryColor: `#${draw.hex(6)}`, position: 'bottom-right', zIndex: 2_147_483_647 },
    tabs: ['chat', 'faq'],
    buttonColor: `#${draw.hex(6)}`,
    buttonTextColor: '#ffffff',
    inputPlaceholder: 'Type a message…',
    inputBackgroundColor: '#f7f7f8',
    disableHumanHandoff: false,
    alwaysShowHandoff: draw.chance(0.2),
    manualControl: false,
    UIhandoffTitle: 'Talk to a person',
    UIhandoffSubtitle: 'Usually within 5 minutes',
    showHandoffEvenIfOffline: draw.chance(0.3),
    persistHandoffOnRefresh: true,
    blockInputDuringHandoffRequest: false,
  }
}

// Section 2.12, "Language model and knowledge base settings".

const PROMPT = `# Role
You answer visitors of the shop. Be brief, be kind, never invent a price.

# Rules
1. Ask for the order number before you look anything up.
2. When the visitor asks for a person, hand over at once.
3. Quote the "Terms" literally; they hold {{var:terms_version}}.`

function conversationModel(draw: Draw, agent: number) {
  return {
    vg_systemPrompt: PROMPT,
    vg_prompt: 'Answer in the language of the visitor.',
    vg_temperature: draw.decimal(0, 1, 2),
    vg_defaultModel: draw.pick(['gpt-4o', 'claude-sonnet-4']),
    vg_maxTokens: 1_024,
    vg_kbDimension: 1_536,
    vg_kbTopChunks: draw.int(3, 8),
    vg_historyLength: 20,
    vg_enableUIEngine: draw.chance(0.6),
    vg_enableUIEngineForms: draw.chance(0.4),
    vg_UIEngineConfig: {
      carousel: { enabled: true, maxItems: 6 },
      calendar: { enabled: false },
      maps: { enabled: true, apiKey: canary('vg-maps-apiKey', agent) },
    },
    vgOptions: {
      fallbackModel: 'gpt-4.1-mini',
      reasoningEffort: null,
      provider: { name: 'own', url: 'https://llm.example.com/v1', apiKey: canary('vgOptions-apiKey', agent) },
    },
    kbTags: ['pricing', 'returns', 'Garantie'],
    kbTagsDataMap: {
      pricing: { documents: draw.int(1, 40), color: '#00aa88' },
      returns: { documents: 3, color: null },
    },
  }
}

// Section 2.12, "Quality and analytics" and "Marketplace".

function quality(draw: Draw, createdMs: number) {
  return {
    autoTest: { enabled: false, lastRunAt: null },
    funnelConfig: { enabled: true, steps: ['visited', 'asked_price', 'left_contact', 'booked_demo'] },
    topicsConfig: { topics: ['billing', 'délai', '配送'] },
    webControlConfig: { enabled: false },
    leadCollectionRules: [{ field: 'email', required: true }],
    identityResolutionSettings: { mergeBy: ['email', 'phone'] },
    limits: {
      maxInteractionsPerUserId: draw.int(50, 500),
      enableTextIpRateLimit: true,
      maxTextInteractionsPerIp: 100,
      textIpRateLimitWindowHours: 24,
      maxAnnualCreditsUsage: null,
      maxMonthlyCreditsUsage: draw.int(1_000, 50_000),
      maxMessages: null,
      maxMessagesRetentionDays: 365,
      inactiveChatRetentionDays: 180,
      analyticsRetentionDays: 730,
    },
    convoTags: ['vip', 'refund', 'follow-up'],
    marketplace: marketplace(draw, createdMs),
  }
}

function marketplace(draw: Draw, createdMs: number) {
  return {
    enabled: draw.chance(0.2),
    priceUSD: draw.decimal(0, 199, 2),
    category: 'customer-service',
    creatorDisplayName: 'Convo Studio',
    shortDescription: 'A friendly front desk.',
    documentation: '## Setup\n\n1. Connect a calendar.\n2. Add opening hours.',
    toolsDocumentation: [{ tool: 'Order lookup', text: 'Needs an order API.' }],
    tags: ['retail'],
    screenshots: ['https://cdn.example.com/market/1.png'],
    demoUrl: 'https://demo.example.com',
    videoUrl: null,
    version: '1.4.0',
    changelog: ['1.4.0: calendar'],
    supportEmail: 'help@example.com',
    listedAt: createdMs,
    updatedAt: createdMs,
    allowCanvasPreview: true,
    allowTryAgent: true,
    likeCount: draw.int(0, 900),
    downloadCount: draw.int(0, 9_000),
  }
}
