// Variables of an agent (section 2.2): those that its tools and instructions refer to, those that conversations capture, and secrets.
import { DAY, HOUR } from '../../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { canary } from './secret-bearing.ts'

export interface Variable {
  id: string
  in: string
  type: string
  value: unknown
  defaultValue: unknown
  key: string
  description: string
  required: boolean
  reusable: boolean
  isEnv: boolean
  isSystem: boolean
  isGlobal: boolean
  agentId: string
  userId: string
}

/** The agent that a variable belongs to; `agent` is its number from 0. */
export interface VariableOwner {
  seed: number
  agent: number
  agentId: string
  workspaceId: string
  createdMs: number
}

/** Keys that say that the value is a secret. */
const SECRET_KEYS = [
  'db_password',
  'crm_api_key',
  'stripe-token',
  'webhookSecret',
  'signingKey',
  'encryption_key',
  'private key',
  'AWS_ACCESS_KEY',
  'client_key',
  'subscriptionKey',
  'passphrase',
  'smtp_pwd',
  'credentials',
  'session-cookie',
  'jwt',
] as const

/** The fields in which variables differ; `id` is absent for an id of the agent's own. */
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
    // Secret by `isEnv`, whatever the key.
    { key: 'CRM', in: 'header', isEnv: true, reusable: true, ...secret('variable-env') },
    { key: 'OPENAI_KEY', in: 'header', isEnv: true, ...secret('variable-openai-key') },
    {
      key: 'shop_url',
      in: 'path',
      isEnv: true,
      value: `https://shop:${canary('variable-url', agent)}@shop.example.com`,
    },
    // Secret by its key alone.
    ...SECRET_KEYS.map(key => ({ key, in: 'header', ...secret(`variable-${key.replace(' ', '_')}`) })),
    { key: 'Authorization', in: 'header', value: `Bearer ${canary('variable-authorization', agent)}` },
  ]
}

/** Variables that are added over time. */
const LATER: readonly Kind[] = [
  { key: 'last_question', description: 'What was asked last' },
  { key: 'form_seats', in: 'body', type: 'number', value: 0 },
  { key: 'loyalty_tier', value: 'gold', isGlobal: true },
]

/** The agent's variables at that time, as generated. */
export function agentVariables(owner: VariableOwner, nowMs: number): Variable[] {
  const draw = new Draw(mix(owner.seed, owner.agent), 0, PURPOSE.variable)
  const first = kinds(owner.agent).map(kind => variable(kind, owner, draw))
  const later = LATER.flatMap(kind => {
    const added = variable(kind, owner, draw)
    return nowMs >= owner.createdMs + draw.logarithmic(HOUR, 500 * DAY) ? [added] : []
  })
  return [...first, ...later]
}

/** What a variable has where nobody has set it. */
export const VARIABLE_DEFAULTS = {
  in: 'query',
  type: 'string',
  value: null,
  defaultValue: '',
  description: '',
  required: false,
  reusable: false,
  isEnv: false,
  isSystem: false,
  isGlobal: false,
}

const variable = (kind: Kind, { agentId, workspaceId }: VariableOwner, draw: Draw): Variable => ({
  id: `var_${draw.hex(12)}`,
  ...VARIABLE_DEFAULTS,
  agentId,
  userId: workspaceId,
  ...kind,
})
