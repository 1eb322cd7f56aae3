// An agent record (section 2.12), with fields of every documented group.
import { DAY } from '../../../core/time.ts'
import type { ResolvedOptions } from '../../options.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { lookupTool, otherTools } from './resources.ts'
import { canary, channels, modelSettings, voiceConfig } from './secret-bearing.ts'

const TITLES = [
  'Front desk',
  'Support – EU 🇪🇺',
  'Lead qualifier "Nova"',
  '予約アシスタント',
  'Billing & refunds',
  'مساعد المبيعات',
] as const

/** Limits starred agents, because every search page contains all of them. */
const STARRED_BELOW = 30

/** The fields that the sandbox itself reads. */
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

/** Returns the `ID` of the agent, counted from 0. */
export function agentId(seed: number, agent: number): string {
  return `agent_${new Draw(seed, agent, PURPOSE.agent).hex(16)}${String(agent + 1).padStart(2, '0')}`
}

function createAgentRecord({ seed, startMs, historyDays, workspaceId }: ResolvedOptions, agent: number): AgentRecord {
  const draw = new Draw(seed, agent, PURPOSE.agent)
  const ID = agentId(seed, agent)
  const createdMs = Math.floor(startMs - (historyDays + draw.int(1, 300)) * DAY)
  const number = agent < TITLES.length ? '' : ` ${agent + 1}`
  const owner = { seed, agent, agentId: ID, workspaceId, createdMs }
  const lookup = lookupTool(owner)
  // Some of them are deleted later, so that the record has ids of missing tools.
  const others = otherTools(owner, startMs).map(({ id }) => id)
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
    starred: agent % 3 === 0 && agent < STARRED_BELOW,
    ...widget(draw),
    ...modelSettings(draw, agent),
    ...voiceConfig(draw, agent),
    ...channels(draw, agent),
    ...quality(draw),
    marketplace: marketplace(draw, createdMs),
    enableNodes: true,
    nodes: nodes(draw, { agent, lookup: lookup.id, others }),
    nodesSettings: { startNodeId: 'greeting', maxTransitions: 50 },
    advanced: {
      serverUrl: 'https://hooks.example.com/agent',
      serverUrlSecret: canary('advanced-serverUrlSecret', agent),
    },
    assignedToolsIds: [lookup.id, ...others],
    tools: [lookup],
  }
}

/** Section 2.12, "Chat and widget settings" and "Human handoff". */
const widget = (draw: Draw) => ({
  proactiveMessage: draw.pick(['Hi 👋 how can we help?', 'Grüezi!', '']),
  recordChatHistory: true,
  messageDelayMS: draw.int(0, 1_500),
  gdprCompliance: draw.chance(0.6),
  disableRating: false,
  privacyDisclaimer: {
    enabled: true,
    text: 'By chatting you accept our <a href="https://example.com/privacy">privacy notice</a>.',
  },
  ui: { primaryColor: `#${draw.hex(6)}`, position: 'bottom-right', zIndex: 2_147_483_647 },
  disableHumanHandoff: false,
  alwaysShowHandoff: draw.chance(0.2),
  manualControl: false,
  showHandoffEvenIfOffline: draw.chance(0.3),
  persistHandoffOnRefresh: true,
  blockInputDuringHandoffRequest: false,
})

/** Section 2.12, "Quality and analytics". */
const quality = (draw: Draw) => ({
  funnelConfig: { enabled: true, steps: ['visited', 'asked_price', 'left_contact', 'booked_demo'] },
  topicsConfig: { topics: ['billing', 'délai', '配送'] },
  leadCollectionRules: [{ field: 'email', required: true }],
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
})

const marketplace = (draw: Draw, createdMs: number) => ({
  enabled: draw.chance(0.2),
  priceUSD: draw.decimal(0, 199, 2),
  category: 'customer-service',
  creatorDisplayName: 'Convo Studio',
  shortDescription: 'A friendly front desk.',
  toolsDocumentation: [{ tool: 'Order lookup', text: 'Needs an order API.' }],
  tags: ['retail'],
  demoUrl: 'https://demo.example.com',
  videoUrl: null,
  version: '1.4.0',
  supportEmail: 'help@example.com',
  listedAt: createdMs,
  updatedAt: createdMs,
  allowCanvasPreview: true,
  allowTryAgent: true,
  likeCount: draw.int(0, 900),
  downloadCount: draw.int(0, 9_000),
})

// The nodes of an agent (section 2.12): a greeting that leads to the others, each with its own model, tools and secrets.

interface NodePlan {
  id: string
  type: string
  model: string
  /** Tools of the agent that the node may use: the one for orders, all others, or none. */
  uses: 'lookup' | 'others' | 'none'
  isGlobal?: boolean
  /** Conditions by the node that they lead to. */
  children: Readonly<Record<string, string>>
}

const plan = (id: string, type: string, model: string, uses: NodePlan['uses'], children = {}): NodePlan => ({
  ...{ id, type, model, uses, children },
})

const QUALIFICATION = plan('qualification', 'conversation', 'gpt-4o', 'lookup', {
  booking: 'the visitor wants a visit',
})
const BOOKING = plan('booking', 'tool', 'gpt-4.1-mini', 'others')
const FALLBACK: NodePlan = { ...plan('fallback', 'conversation', 'gpt-4.1-mini', 'none'), isGlobal: true }
const VIP = plan('vip', 'condition', 'gpt-4o', 'none', { qualification: 'the order is above 500 EUR' })

const NODES: readonly NodePlan[] = [VIP, QUALIFICATION, BOOKING, FALLBACK]

interface Tooled {
  agent: number
  /** Id of the agent's tool for orders. */
  lookup: string
  /** Ids of its other tools. */
  others: readonly string[]
}

function nodes(draw: Draw, owner: Tooled) {
  const first = NODES.filter(({ id }) => id !== 'booking').map(({ id }) => [id, `the visitor is ready for ${id}`])
  const greeting = plan('greeting', 'conversation', 'gpt-4o', 'lookup', Object.fromEntries(first))
  return [greeting, ...NODES].map(each => node(each, owner, draw.decimal(0, 1, 1)))
}

function node({ id, type, model, uses, isGlobal = false, children }: NodePlan, owner: Tooled, temperature: number) {
  const { agent, lookup, others } = owner
  const toolsIds = { lookup: [lookup], others: [...others], none: [] }[uses]
  return {
    id,
    name: id,
    description: `Node ${id}`,
    instructions: `Greet, then find out what the visitor needs. Use {{tool:${lookup}}} for orders.`,
    llmConfig: { modelId: model, temperature, maxTokens: 800, apiKey: canary(`node-llm-apiKey-${id}`, agent) },
    language: null,
    mcpServers: mcpServers(id, agent),
    voiceInstructions: '',
    isGlobal,
    toolsIds,
    toolsSettings: Object.fromEntries(
      toolsIds.map(tool => [tool, { timeoutMs: 5_000, headers: { Authorization: canary(`node-tool-${id}`, agent) } }]),
    ),
    childrenNodes: Object.entries(children).map(([nodeId, condition]) => ({ nodeId, condition })),
    routerLlmConfig: { modelId: 'gpt-4.1-mini', apiKey: canary(`node-router-apiKey-${id}`, agent) },
    toolUseBias: 0,
    autoRerouter: true,
    type,
    kb: { enabled: true, tags: ['pricing'] },
    conditionData: type === 'condition' ? { variable: 'order_total', operator: 'gt', value: 500 } : null,
    preStart:
      type === 'tool' ? { url: 'https://hooks.example.com/start', token: canary(`node-preStart-${id}`, agent) } : null,
    startConfig: { firstMessage: 'Hello!' },
  }
}

const mcpServers = (id: string, agent: number) => [
  {
    name: 'crm',
    url: 'https://mcp.example.com/sse',
    headers: {
      Authorization: `Bearer ${canary(`mcp-${id}`, agent)}`,
      Cookie: `session=${canary(`mcp-cookie-${id}`, agent)}`,
      'X-Auth': canary(`mcp-x-auth-${id}`, agent),
    },
  },
  {
    name: 'notes',
    command: 'notes-mcp',
    args: ['--quiet', '--api-key', canary(`mcp-option-${id}`, agent)],
    env: { OPENAI_KEY: canary(`mcp-env-${id}`, agent), REGION: 'eu' },
  },
]

// The workspace's agents, created on first use. With traffic they change from time to time: each is renamed, and `lastModified` moves.

/** An agent changes at most once per interval of this length. */
const CHANGE_INTERVAL_MS = 3 * DAY
const CHANGE_SHARE = 0.4
/** An agent that did not change for this long has its initial state. */
const LONGEST_MS = 40 * CHANGE_INTERVAL_MS

export class AgentList {
  readonly ids: readonly string[]
  private readonly options: ResolvedOptions
  private readonly numbers: Map<string, number>
  private readonly records = new Map<string, AgentRecord>()

  constructor(options: ResolvedOptions) {
    this.options = options
    this.ids = Array.from({ length: options.agents }, (_, agent) => agentId(options.seed, agent))
    this.numbers = new Map(this.ids.map((id, agent) => [id, agent]))
  }

  /** Returns the agent's number from 0; undefined if unknown. */
  numberOf(id: string): number | undefined {
    return this.numbers.get(id)
  }

  /** Returns the agent's record at that time; undefined if the agent is unknown. */
  at(id: string, nowMs: number): AgentRecord | undefined {
    const agent = this.numbers.get(id)
    if (agent === undefined) return undefined
    const record = this.records.get(id) ?? createAgentRecord(this.options, agent)
    this.records.set(id, record)
    if (!this.options.traffic) return record
    // Every event type needs an agent that sends it.
    const agentPlatform = agent === 0 ? 'vg' : record.agentPlatform
    const lastModified = this.changesBetween(id, nowMs - LONGEST_MS, nowMs).at(-1)
    if (lastModified === undefined || lastModified <= record.createdAtUNIX * 1_000) return { ...record, agentPlatform }
    const day = new Date(lastModified).toISOString().slice(0, 10)
    return { ...record, agentPlatform, title: `${record.title} (${day})`, lastModified }
  }

  /** Returns the times of the agent's changes in that range, in order; none without traffic. */
  changesBetween(id: string, afterMs: number, untilMs: number): number[] {
    const agent = this.numbers.get(id)
    if (agent === undefined || !this.options.traffic) return []
    const changes: number[] = []
    const first = Math.floor(afterMs / CHANGE_INTERVAL_MS)
    for (let interval = first; interval * CHANGE_INTERVAL_MS <= untilMs; interval++) {
      const draw = new Draw(mix(this.options.seed, agent), interval, PURPOSE.agentChange)
      if (!draw.chance(CHANGE_SHARE)) continue
      const ms = Math.floor((interval + draw.unit()) * CHANGE_INTERVAL_MS)
      if (ms > afterMs && ms <= untilMs) changes.push(ms)
    }
    return changes
  }
}
