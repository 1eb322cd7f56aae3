// GET and POST /v3/agents/{agentId}/variables (API document, sections 2.2, 4.3 and 4.4).
import { z } from 'zod'
import type { SandboxService } from '../service.ts'
import { agentVariables, VARIABLE_DEFAULTS, type Variable } from '../world/agents/variables.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { changeAgent, differences, type FoundAgent, ofAgent } from './of-agent.ts'
import { NO_QUERY } from './query.ts'
import { envelope, type Route, type RouteRequest } from './route.ts'

const VARIABLES = {
  path: '/v3/agents/{agentId}/variables',
  kind: 'variables',
  faultKind: 'variables',
  query: NO_QUERY,
} as const

export const VariableSchema = z.object({
  id: z.string(),
  in: z.string(),
  type: z.string(),
  value: z.unknown(),
  defaultValue: z.unknown(),
  key: z.string(),
  description: z.string(),
  required: z.boolean(),
  reusable: z.boolean(),
  isEnv: z.boolean(),
  isSystem: z.boolean(),
  isGlobal: z.boolean(),
  agentId: z.string(),
  userId: z.string(),
})

/** What a request has of a tool's field (section 2.2). */
export const SentField = VariableSchema.partial().extend({ key: z.string() })

/** A key is required and has at least one character that is no space; the document has no other rule. */
const Body = z.object({
  variable: SentField.omit({ id: true, type: true, agentId: true, userId: true }).extend({
    key: z.string().regex(/\S/, 'must not be empty'),
  }),
})

export const VARIABLE_ROUTES: readonly Route[] = [
  {
    ...VARIABLES,
    method: 'GET',
    operation: 'listVariables',
    summary: 'List agent variables',
    response: envelope({ data: z.array(VariableSchema) }),
    answer: ofAgent(listVariables),
  },
  {
    ...VARIABLES,
    method: 'POST',
    operation: 'createVariable',
    summary: 'Create variable',
    body: Body,
    response: envelope({ data: VariableSchema }),
    answer: ofAgent(createVariable),
  },
]

/** Values are returned as they are, also those of `isEnv` (section 4.4: "including current values"). */
function listVariables(service: SandboxService, agent: FoundAgent, { nowMs }: RouteRequest): Answer {
  const data = variablesOf(service, agent, nowMs)
  return jsonAnswer({ success: true, message: 'Variables retrieved successfully', data })
}

const variablesOf = ({ state }: SandboxService, agent: FoundAgent, nowMs: number): Variable[] => {
  const written = state.agent(agent.agentId).variables
  const keys = new Set(written.map(({ key }) => key))
  // A variable that the world adds later may have the key of one that a caller has created.
  return [...agentVariables(agent, nowMs).filter(({ key }) => !keys.has(key)), ...written]
}

function createVariable(service: SandboxService, agent: FoundAgent, { body, nowMs }: RouteRequest): Answer {
  const { options, state } = service
  const read = readBody(Body, body, options.readings)
  if ('refused' in read) return read.refused
  const { variable: sent } = read.value
  if (variablesOf(service, agent, nowMs).some(({ key }) => key === sent.key))
    return fault(400, `The agent has a variable with the key ${JSON.stringify(sent.key)}`)
  const { agentId, workspaceId: userId } = agent
  const id = `var_${new Draw(agent.seed, state.size, PURPOSE.written).hex(12)}`
  const type = typeOf(sent.value ?? sent.defaultValue)
  const variable = variableOf(sent, { id, type, agentId, userId })
  changeAgent(service, agent, {
    type: 'variable',
    ms: nowMs,
    agentId,
    variable,
    differences: differences(`variables[${variable.id}]`, undefined, variable),
  })
  return jsonAnswer({ success: true, message: 'Variable created successfully', data: variable })
}

/** The variable as it is stored. */
export const variableOf = (
  sent: z.output<typeof SentField>,
  own: Pick<Variable, 'id' | 'type' | 'agentId' | 'userId'>,
): Variable => VariableSchema.parse({ ...VARIABLE_DEFAULTS, ...sent, defaultValue: sent.defaultValue ?? '', ...own })

/** The request has no type; `string` is the only one that the document shows. */
function typeOf(value: unknown): string {
  return value === undefined || value === null ? 'string' : typeof value
}
