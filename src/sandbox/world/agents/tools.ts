// Section 2.12, "Tools", in the shapes of 2.1 and 2.2.
import type { Draw } from '../random.ts'
import { canary } from './secret-bearing.ts'

interface ToolOwner {
  agent: number
  agentId: string
  workspaceId: string
  createdMs: number
}

export function tools(draw: Draw, owner: ToolOwner) {
  const lookup = `tool_lookup_${draw.hex(6)}`
  return { assignedToolsIds: [lookup], tools: [tool(lookup, owner)] }
}

function tool(id: string, { agent, agentId, workspaceId, createdMs }: ToolOwner) {
  const at = new Date(createdMs).toISOString()
  return {
    id,
    name: 'Order lookup',
    description: 'Finds an order by its number',
    isDefault: false,
    method: 'GET',
    serverUrl: 'https://api.example.com/orders',
    serverUrlSecret: canary('tool-serverUrlSecret', agent),
    createdAt: at,
    updatedAt: at,
    disabled: false,
    isExtTool: false,
    extId: null,
    isGlobal: false,
    variablesIds: ['var_order'],
    agentId,
    userId: workspaceId,
    backchannellingPhrases: ['Let me check…'],
    toolsSettings: { cacheSeconds: 60 },
    fields: fields(agent, agentId, workspaceId),
    channels: ['web-chat', 'whatsapp'],
  }
}

function fields(agent: number, agentId: string, userId: string) {
  const shared = { type: 'string', required: true, reusable: false, isSystem: false, isGlobal: false, agentId, userId }
  const secret = canary('tool-field-value', agent)
  return [
    {
      ...shared,
      id: 'fld_1',
      in: 'query',
      key: 'order',
      value: null,
      defaultValue: '',
      description: 'Order number',
      isEnv: false,
    },
    {
      ...shared,
      id: 'fld_2',
      in: 'header',
      key: 'Authorization',
      value: secret,
      defaultValue: secret,
      description: '',
      isEnv: true,
    },
  ]
}
