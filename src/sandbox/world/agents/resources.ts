// Variables, tools and custom metrics of an agent, as generated (sections 2.1 to 2.3).
import { DAY, HOUR, SECOND } from '../../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { canary } from './secret-bearing.ts'

/** The agent that a variable or a tool belongs to; `agent` is its number from 0. */
export interface Owner {
  seed: number
  agent: number
  agentId: string
  workspaceId: string
  createdMs: number
}

/** Keys that mark the value as a secret. */
const SECRET_KEYS = [
  'db_password',
  'crm_api_key',
  'stripe-token',
  'webhookSecret',
  'private key',
  'AWS_ACCESS_KEY',
] as const

/** Fields in which variables differ; `id` is omitted for a generated id. */
type Kind = Pick<Variable, 'key'> & Partial<Omit<Variable, 'agentId' | 'userId'>>

/** `var_…` are ids that tools refer to; `terms_version` is in the prompt. */
const kinds = (agent: number): Kind[] => {
  const secret = (place: string) => ({ value: canary(place, agent), defaultValue: canary(`${place}-default`, agent) })
  return [
    { id: 'var_order', key: 'order_number', description: 'Number of the order', required: true },
    { id: 'var_day', key: 'day', in: 'body', description: 'Day of the visit' },
    { id: 'var_hour', key: 'hour', in: 'body', type: 'number', value: 14, defaultValue: 9 },
    { id: 'terms_version', key: 'terms_version', value: '2026-03', isGlobal: true, reusable: true },
    { key: 'first_name', description: 'Vorname – 名', isGlobal: true },
    { key: 'preferred time', defaultValue: 'morning' },
    { key: 'consent', type: 'boolean', value: false, defaultValue: false },
    { key: 'budget', type: 'number', value: 1250.5, defaultValue: null },
    { key: 'items', type: 'object', value: [{ sku: 'SKU-1', qty: 2 }], defaultValue: [] },
    { key: 'conversation_id', in: 'system', isSystem: true, isGlobal: true },
    // A secret because of `isEnv`, regardless of the key.
    { key: 'CRM', in: 'header', isEnv: true, reusable: true, ...secret('variable-env') },
    { key: 'OPENAI_KEY', in: 'header', isEnv: true, ...secret('variable-openai-key') },
    {
      key: 'shop_url',
      in: 'path',
      isEnv: true,
      value: `https://shop:${canary('variable-url', agent)}@shop.example.com`,
    },
    // A secret because of its key.
    ...SECRET_KEYS.map(key => ({ key, in: 'header', ...secret(`variable-${key.replace(' ', '_')}`) })),
    { key: 'Authorization', in: 'header', value: `Bearer ${canary('variable-authorization', agent)}` },
  ]
}

/** Returns the agent's variables as generated; `loyalty_tier` is added later. */
export function agentVariables(owner: Owner, nowMs: number): Variable[] {
  const draw = new Draw(mix(owner.seed, owner.agent), 0, PURPOSE.variable)
  const all = [...kinds(owner.agent), { key: 'loyalty_tier', value: 'gold', isGlobal: true }].map(kind =>
    variable(kind, owner, draw),
  )
  return nowMs >= owner.createdMs + draw.logarithmic(HOUR, 500 * DAY) ? all : all.slice(0, -1)
}

/** Default values of a variable. */
export const VARIABLE_DEFAULTS = {
  in: 'query',
  type: 'string',
  value: null as unknown,
  defaultValue: '' as unknown,
  description: '',
  required: false,
  reusable: false,
  isEnv: false,
  isSystem: false,
  isGlobal: false,
}

export type Variable = typeof VARIABLE_DEFAULTS & { id: string; key: string; agentId: string; userId: string }

const variable = (kind: Kind, { agentId, workspaceId }: Owner, draw: Draw): Variable => ({
  id: `var_${draw.hex(12)}`,
  ...VARIABLE_DEFAULTS,
  agentId,
  userId: workspaceId,
  ...kind,
})

// Tools of an agent (sections 2.1 and 2.2): one for orders in the agent's record, and others that come and go.

/** Default values of a tool. */
const TOOL_DEFAULTS = {
  isDefault: false,
  method: 'GET',
  serverUrl: '',
  serverUrlSecret: '',
  disabled: false,
  isExtTool: false,
  extId: null as string | null,
  isGlobal: false,
  variablesIds: [] as string[],
  backchannellingPhrases: [] as string[],
  toolsSettings: {} as unknown,
  channels: [] as string[],
}

type Named = Record<'id' | 'name' | 'description', string>

type Given = Named & Partial<typeof TOOL_DEFAULTS> & { fields: (Partial<Variable> & { key: string })[]; atMs: number }

export type Tool = ReturnType<typeof toolRecord>

/** Completes a tool for storage: numbers its fields, and adds owner and times. */
export function toolRecord({ atMs, fields, ...given }: Given, { agentId, workspaceId: userId }: Owner) {
  const at = new Date(atMs).toISOString()
  const own = { agentId, userId }
  return {
    ...TOOL_DEFAULTS,
    ...given,
    ...{ createdAt: at, updatedAt: at, ...own },
    fields: fields.map((field, index) => ({ id: `fld_${index + 1}`, ...VARIABLE_DEFAULTS, ...field, ...own })),
  }
}

export function lookupTool(owner: Owner): Tool {
  const { seed, agent, createdMs } = owner
  const value = canary('tool-field-value', agent)
  const tool = {
    id: `tool_lookup_${new Draw(mix(seed, agent), OTHER_TOOLS.length, PURPOSE.tool).hex(6)}`,
    name: 'Order lookup',
    description: 'Finds an order by its number',
    serverUrl: 'https://api.example.com/orders',
    serverUrlSecret: canary('tool-serverUrlSecret', agent),
    variablesIds: ['var_order'],
    backchannellingPhrases: ['Let me check…'],
    toolsSettings: { cacheSeconds: 60 },
    channels: ['web-chat', 'whatsapp'],
    fields: [
      { key: 'order', description: 'Order number', required: true },
      { in: 'header', key: 'Authorization', value, defaultValue: value, isEnv: true },
    ],
  }
  return toolRecord({ ...tool, atMs: createdMs }, owner)
}

/** Other tools that an agent may have. */
const OTHER_TOOLS = [
  {
    name: 'Book a visit',
    description: 'Books a visit once the day and the hour are agreed',
    method: 'POST',
    variablesIds: ['var_day', 'var_hour'],
    fields: [
      { in: 'body', key: 'day' },
      { in: 'body', key: 'hour', defaultValue: 9 },
    ],
  },
  {
    name: 'Weather',
    description: 'Tells the weather of a place, if somebody asks',
    channels: ['web-chat', 'telephony'],
    fields: [{ key: 'place' }],
  },
  {
    name: 'Refund »instant«',
    description: 'Only where the order is at most 14 days old',
    method: 'POST',
    variablesIds: ['var_order'],
    channels: ['whatsapp'],
    fields: [],
  },
]

/** Returns the agent's tools at that time, without the one in its record. */
export function otherTools(owner: Owner, nowMs: number): Tool[] {
  return OTHER_TOOLS.flatMap((kind, index) => {
    const draw = new Draw(mix(owner.seed, owner.agent), index, PURPOSE.tool)
    const id = `tool_${draw.hex(12)}`
    const atMs = owner.createdMs + draw.logarithmic(HOUR, 400 * DAY)
    const deletedMs = draw.chance(0.6) ? atMs + draw.logarithmic(DAY, 200 * DAY) : Number.POSITIVE_INFINITY
    const isThere = draw.chance(0.7) && nowMs >= atMs && nowMs < deletedMs
    const serverUrlSecret = canary('tool-serverUrlSecret', owner.agent)
    return isThere ? [toolRecord({ ...kind, id, atMs, serverUrlSecret, disabled: draw.chance(0.2) }, owner)] : []
  })
}

// Custom metrics of an agent (section 2.3): those that its conversations carry, and others that were never measured.

export interface Metric {
  id: string
  key: string
  description: string
  type: string
  isSystem: boolean
  /** Only for `enum` metrics. */
  options?: readonly string[]
  createdAtUNIX: number
  updatedAtUNIX: number
}

/** Options of the metric `sentiment`. */
export const SENTIMENTS = ['positive', 'neutral', 'negative'] as const

/** The first five are in `metrics[]` of conversations. */
const METRICS: readonly (Pick<Metric, 'key' | 'description' | 'type'> & Partial<Metric>)[] = [
  { id: 'met_sentiment', key: 'sentiment', description: 'How the visitor felt', type: 'enum', options: SENTIMENTS },
  { id: 'met_effort', key: 'effort', description: 'How hard it was, from 0 to 1', type: 'number' },
  { id: 'met_solved', key: 'solved', description: 'The question was answered', type: 'boolean', isSystem: true },
  { id: 'met_topics', key: 'topics', description: 'What it was about', type: 'array' },
  { id: 'met_quote', key: 'quote', description: 'A sentence of the visitor – “verbatim”', type: 'text' },
  { id: 'met_interruptions', key: 'interruptions', description: 'Times cut short', type: 'number', isSystem: true },
  { key: 'upsell', description: 'What was offered', type: 'enum', options: ['none', 'offered', 'accepté', '承諾'] },
  { key: 'politeness', description: '', type: 'number' },
]

/** Returns the agent's metrics as generated. `agent`: its number from 0. */
export function agentMetrics({ seed, agent, createdMs }: { seed: number; agent: number; createdMs: number }): Metric[] {
  const draw = new Draw(mix(seed, agent), 0, PURPOSE.metric)
  return METRICS.map(({ id, key, description, type, isSystem = false, options }) => {
    const ownId = `met_${draw.hex(12)}`
    const createdAtUNIX = Math.floor((createdMs + draw.int(0, DAY)) / SECOND)
    const updatedAtUNIX = createdAtUNIX + draw.int(0, (30 * DAY) / SECOND)
    return {
      id: id ?? ownId,
      key,
      description,
      type,
      isSystem,
      ...(options && { options }),
      createdAtUNIX,
      updatedAtUNIX,
    }
  })
}
