// Section 2.12, "Tools", in the shapes of 2.1 and 2.2.
import { DAY, HOUR } from '../../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { canary } from './secret-bearing.ts'

export interface ToolOwner {
  agent: number
  agentId: string
  workspaceId: string
  createdMs: number
}

/** The fields in which tools differ. */
interface Kind {
  name: string
  description: string
  method: string
  disabled: boolean
  variablesIds: readonly string[]
  channels: readonly string[]
  fields: readonly Field[]
}

type Field = ReturnType<typeof field>
export type Tool = Omit<ReturnType<typeof toolRecord>, 'toolsSettings' | 'extId'> & {
  toolsSettings: unknown
  extId: string | null
}

const ORDER_LOOKUP = {
  name: 'Order lookup',
  description: 'Finds an order by its number',
  method: 'GET',
  disabled: false,
  variablesIds: ['var_order'],
  channels: ['web-chat', 'whatsapp'],
}

export function tools(draw: Draw, owner: ToolOwner) {
  const lookup = `tool_lookup_${draw.hex(6)}`
  const secret = canary('tool-field-value', owner.agent)
  const fields = [
    field({ in: 'query', key: 'order', description: 'Order number' }),
    field({ in: 'header', key: 'Authorization', value: secret, defaultValue: secret, isEnv: true }),
  ]
  return { assignedToolsIds: [lookup], tools: [toolRecord(lookup, owner, { ...ORDER_LOOKUP, fields })] }
}

/** A tool as served, with numbered fields. */
function toolRecord(id: string, { agent, agentId, workspaceId, createdMs }: ToolOwner, kind: Kind) {
  const at = new Date(createdMs).toISOString()
  return {
    id,
    name: kind.name,
    description: kind.description,
    isDefault: false,
    method: kind.method,
    serverUrl: 'https://api.example.com/orders',
    serverUrlSecret: canary('tool-serverUrlSecret', agent),
    createdAt: at,
    updatedAt: at,
    disabled: kind.disabled,
    isExtTool: false,
    extId: null,
    isGlobal: false,
    variablesIds: kind.variablesIds,
    agentId,
    userId: workspaceId,
    backchannellingPhrases: ['Let me check…'],
    toolsSettings: { cacheSeconds: 60 },
    fields: kind.fields.map((own, index) => ({
      type: 'string',
      required: own.required,
      reusable: false,
      isSystem: false,
      isGlobal: false,
      agentId,
      userId: workspaceId,
      id: `fld_${index + 1}`,
      in: own.in,
      key: own.key,
      value: own.value,
      defaultValue: own.defaultValue,
      description: own.description,
      isEnv: own.isEnv,
    })),
    channels: kind.channels,
  }
}

/** A field of a tool: the given values, and defaults for the others. */
const field = (own: {
  in: string
  key: string
  value?: unknown
  defaultValue?: unknown
  description?: string
  required?: boolean
  isEnv?: boolean
}) => ({ value: null as unknown, defaultValue: '' as unknown, description: '', required: true, isEnv: false, ...own })

/** Other tools that an agent may have. */
const KINDS = [
  {
    name: 'Book a visit',
    description: 'Books a visit once the day and the hour are agreed',
    method: 'POST',
    variablesIds: ['var_day', 'var_hour'],
    channels: [],
    fields: [field({ in: 'body', key: 'day' }), field({ in: 'body', key: 'hour', defaultValue: 9 })],
  },
  {
    name: 'Weather',
    description: 'Tells the weather of a place, if somebody asks',
    method: 'GET',
    variablesIds: [],
    channels: ['web-chat', 'telephony'],
    fields: [field({ in: 'query', key: 'place', required: false })],
  },
  {
    name: 'Refund »instant«',
    description: 'Only where the order is at most 14 days old',
    method: 'POST',
    variablesIds: ['var_order'],
    channels: ['whatsapp'],
    fields: [],
  },
] as const

/** The agent's tools at that time, without the one in its record. */
export function otherTools(owner: ToolOwner, seed: number, nowMs: number): Tool[] {
  return KINDS.flatMap((kind, index) => {
    const draw = new Draw(mix(seed, owner.agent), index, PURPOSE.tool)
    const id = `tool_${draw.hex(12)}`
    const createdMs = owner.createdMs + draw.logarithmic(HOUR, 400 * DAY)
    const deletedMs = draw.chance(0.6) ? createdMs + draw.logarithmic(DAY, 200 * DAY) : Number.POSITIVE_INFINITY
    const isThere = draw.chance(0.7) && nowMs >= createdMs && nowMs < deletedMs
    return isThere ? [toolRecord(id, { ...owner, createdMs }, { ...kind, disabled: draw.chance(0.2) })] : []
  })
}
