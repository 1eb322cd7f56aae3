// GET and POST /v3/agents/{agentId}/tools (API document, sections 2.1, 2.2, 4.1 and 4.2).
import { z } from 'zod'
import type { SandboxService } from '../service.ts'
import { otherTools, type Tool } from '../world/agents/tools.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import { type Answer, jsonAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { changeAgent, differences, type FoundAgent, ofAgent } from './of-agent.ts'
import { NO_QUERY } from './query.ts'
import { envelope, type Route, type RouteRequest } from './route.ts'
import { SentField, VariableSchema, variableOf } from './variables.ts'

const TOOLS = { path: '/v3/agents/{agentId}/tools', kind: 'tools', faultKind: 'tools', query: NO_QUERY } as const

const ToolSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  isDefault: z.boolean(),
  method: z.string(),
  serverUrl: z.string(),
  serverUrlSecret: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  disabled: z.boolean(),
  isExtTool: z.boolean(),
  extId: z.string().nullable(),
  isGlobal: z.boolean(),
  variablesIds: z.array(z.string()),
  agentId: z.string(),
  userId: z.string(),
  backchannellingPhrases: z.array(z.string()),
  toolsSettings: z.unknown(),
  fields: z.array(VariableSchema),
  channels: z.array(z.string()),
})

/** The fields that only answers have (`id`, `createdAt`, …) are known, and ignored. */
const Body = z.object({
  tool: ToolSchema.partial().extend({
    name: z.string().min(1),
    description: z.string().min(1),
    fields: z.array(SentField).optional(),
  }),
})

export const TOOL_ROUTES: readonly Route[] = [
  {
    ...TOOLS,
    method: 'GET',
    operation: 'listTools',
    summary: 'List agent tools',
    response: envelope({ data: z.array(ToolSchema) }),
    answer: ofAgent(listTools),
  },
  {
    ...TOOLS,
    method: 'POST',
    operation: 'createTool',
    summary: 'Create tool',
    body: Body,
    response: envelope({ data: ToolSchema }),
    answer: ofAgent(createTool),
  },
]

/** The tool in the agent's record, others that are created and deleted over time, and those that callers have created. */
function listTools({ state }: SandboxService, agent: FoundAgent, { nowMs }: RouteRequest): Answer {
  const generated = [...(agent.record.tools as Tool[]), ...otherTools(agent, agent.seed, nowMs)]
  const data = [...generated, ...state.agent(agent.agentId).tools]
  return jsonAnswer({ success: true, message: 'Tools retrieved successfully', data })
}

function createTool(service: SandboxService, agent: FoundAgent, { body, nowMs }: RouteRequest): Answer {
  const { options, state } = service
  const read = readBody(Body, body, options.readings)
  if ('refused' in read) return read.refused
  const tool = toolOf(read.value.tool, agent, { number: state.size, nowMs })
  const { agentId } = agent
  changeAgent(service, agent, {
    type: 'tool',
    ms: nowMs,
    agentId,
    tool,
    differences: differences(`tools[${tool.id}]`, undefined, tool),
  })
  return jsonAnswer({ success: true, message: 'Tool created successfully', data: tool })
}

interface Creation {
  /** The number of changes before. */
  number: number
  nowMs: number
}

/** What a tool has where its caller left it out. */
const DEFAULTS = {
  isDefault: false,
  method: 'GET',
  serverUrl: '',
  serverUrlSecret: '',
  disabled: false,
  isExtTool: false,
  extId: null,
  isGlobal: false,
  variablesIds: [],
  backchannellingPhrases: [],
  channels: [],
}

/** The tool as it is stored, with an id, an owner and times. */
function toolOf(sent: z.output<typeof Body>['tool'], owner: FoundAgent, { number, nowMs }: Creation): Tool {
  const at = new Date(nowMs).toISOString()
  const { agentId, workspaceId: userId } = owner
  return ToolSchema.parse({
    ...DEFAULTS,
    ...sent,
    id: `tool_${new Draw(owner.seed, number, PURPOSE.written).hex(12)}`,
    createdAt: at,
    updatedAt: at,
    agentId,
    userId,
    toolsSettings: sent.toolsSettings ?? {},
    fields: (sent.fields ?? []).map((field, index) =>
      variableOf(field, { id: field.id ?? `fld_${index + 1}`, type: field.type ?? 'string', agentId, userId }),
    ),
  })
}
