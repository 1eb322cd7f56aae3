// The nodes of an agent (section 2.12): a greeting that leads to the others, each with its own model, tools and secrets.
import type { Draw } from '../random.ts'
import { canary } from './secret-bearing.ts'

interface NodePlan {
  id: string
  name?: string
  type: string
  isGlobal: boolean
  /** What leads to which node. */
  children: Readonly<Record<string, string>>
  model: string
  /** Which of the agent's tools it may use: the one for orders, all others, or none. */
  uses: 'lookup' | 'others' | 'none'
}

const plan = (id: string, own: Partial<Omit<NodePlan, 'id'>>): NodePlan => ({
  ...{ id, type: 'conversation', isGlobal: false, children: {}, model: 'gpt-4o', uses: 'none' },
  ...own,
})

const QUALIFICATION = plan('qualification', {
  children: { booking: 'the visitor wants a visit' },
  uses: 'lookup',
})
const BOOKING = plan('booking', { type: 'tool', model: 'gpt-4.1-mini', uses: 'others' })
const FALLBACK = plan('fallback', { isGlobal: true, model: 'gpt-4.1-mini' })
const RETURNS = plan('returns', {
  model: 'claude-sonnet-4',
  children: { booking: 'the parcel must be fetched', greeting: 'the visitor has another question' },
  uses: 'lookup',
})
const SURVEY = plan('survey', { name: 'Umfrage – survey', type: 'end' })
const VIP = plan('vip', { type: 'condition', children: { qualification: 'the order is above 500 EUR' } })

/** Nodes by agent, in turn. */
const FLOWS: readonly (readonly NodePlan[])[] = [
  [QUALIFICATION, BOOKING, RETURNS, FALLBACK],
  [QUALIFICATION, BOOKING, FALLBACK, SURVEY],
  [VIP, QUALIFICATION, BOOKING, RETURNS, FALLBACK],
]

/** `nodes`: functions of the ids of the agent's tool for orders and of its other tools. */
export function nodes(draw: Draw, agent: number) {
  const own = FLOWS[agent % FLOWS.length]!
  const first = own.filter(({ id }) => id !== 'booking')
  const greeting = plan('greeting', {
    children: Object.fromEntries(first.map(({ id }) => [id, `the visitor is ready for ${id}`])),
    uses: 'lookup',
  })
  // A number more or less would change all that is drawn later, in every world.
  const temperatures = Array.from({ length: 4 }, () => draw.decimal(0, 1, 1))
  return {
    enableNodes: true,
    nodes: [greeting, ...own].map(
      (each, index) => (lookup: string, others: readonly string[]) =>
        node({ ...each, agent, temperature: temperatures[index % 4]!, lookup, others }),
    ),
    nodesSettings: { startNodeId: 'greeting', maxTransitions: 50 },
    advanced: {
      serverUrl: 'https://hooks.example.com/agent',
      serverUrlSecret: canary('advanced-serverUrlSecret', agent),
    },
    enableFallback: draw.chance(0.5),
    fallbackSettings: {
      message: 'One moment, please.',
      retries: 2,
      notify: { url: 'https://hooks.example.com/fallback', headers: { 'X-Api-Key': canary('fallback-header', agent) } },
    },
  }
}

interface NodeOfAgent extends NodePlan {
  agent: number
  temperature: number
  lookup: string
  others: readonly string[]
}

function node({ id, name, type, isGlobal, children, model, uses, agent, temperature, lookup, others }: NodeOfAgent) {
  const toolsIds = uses === 'lookup' ? [lookup] : uses === 'others' ? [...others] : []
  return {
    id,
    name: name ?? id,
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
    // A server may have any name.
    name: 'notes',
    command: 'notes-mcp',
    args: ['--quiet', '--api-key', canary(`mcp-option-${id}`, agent)],
    env: { OPENAI_KEY: canary(`mcp-env-${id}`, agent), REGION: 'eu' },
  },
]
