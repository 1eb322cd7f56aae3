// The resources of an agent: tools, variables, custom metrics, audit log (API document, sections 2.1 to 2.4, 4.1 to 4.5, 4.7, 4.8).

import { z } from 'zod'
import { SECOND } from '../../core/time.ts'
import type { AgentRecord } from '../world/agents/agent-record.ts'
import { type AuditEntry, generatedEntries } from '../world/agents/audit-log.ts'
import {
  agentMetrics,
  agentVariables,
  type Metric,
  type Owner,
  otherTools,
  type Tool,
  toolRecord,
  VARIABLE_DEFAULTS,
  type Variable,
} from '../world/agents/resources.ts'
import { CANARY } from '../world/agents/secret-bearing.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import { revisionMs } from '../world/schedule.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { readBody, readQuery } from './input.ts'
import type { Route, RouteRequest, SandboxService } from './route.ts'

interface FoundAgent extends Owner {
  record: AgentRecord
}

type Handler = (service: SandboxService, agent: FoundAgent, request: RouteRequest) => Answer

/** Calls the handler with the agent of the path; an unknown or deleted one is a 404. */
export function ofAgent(handler: Handler): Route['answer'] {
  return (service, request) => {
    const { options, world, conditions } = service
    const agentId = request.ids.agentId!
    const record = world.agent(agentId, request.nowMs)
    if (record === undefined || conditions.isGone(agentId)) return fault(404, 'Agent not found')
    const agent = world.agentIds().indexOf(agentId)
    const { seed, workspaceId } = options
    const createdMs = record.createdAtUNIX * 1_000
    return handler(service, { seed, agent, agentId, workspaceId, createdMs, record }, request)
  }
}

// GET and POST /v3/agents/{agentId}/tools and /variables (API document, sections 2.1, 2.2 and 4.1 to 4.4).

const text = z.string().optional()
const flag = z.boolean().optional()
const texts = z.array(z.string()).optional()
const anything = z.unknown().optional()

/** A key has at least one non-space character; the document has no other rule. */
const VariableBody = z.object({
  variable: z.object({
    key: z.string().regex(/\S/, 'must not be empty'),
    in: text,
    value: anything,
    defaultValue: anything,
    description: text,
    required: flag,
    reusable: flag,
    isEnv: flag,
    isSystem: flag,
    isGlobal: flag,
  }),
})

/** Fields that only answers have (`id`, `createdAt`, …) are known, but ignored. */
const ToolBody = z.object({
  tool: z.object({
    name: z.string().min(1),
    description: z.string().min(1),
    ...{ id: text, method: text, serverUrl: text, serverUrlSecret: text, createdAt: text, updatedAt: text },
    ...{ agentId: text, userId: text, extId: text.nullable() },
    ...{ isDefault: flag, disabled: flag, isExtTool: flag, isGlobal: flag },
    ...{ variablesIds: texts, backchannellingPhrases: texts, channels: texts },
    toolsSettings: anything,
    fields: z
      .array(VariableBody.shape.variable.extend({ key: z.string(), id: text, type: text, agentId: text, userId: text }))
      .optional(),
  }),
})

/** Lists the tool in the agent's record, others that are created and deleted over time, and those that callers have created. */
export function listTools({ state }: SandboxService, agent: FoundAgent, { nowMs }: RouteRequest): Answer {
  const generated = [...(agent.record.tools as Tool[]), ...otherTools(agent, nowMs)]
  const data = [...generated, ...state.agent(agent.agentId).tools]
  return jsonAnswer({ success: true, message: 'Tools retrieved successfully', data })
}

export function createTool(service: SandboxService, agent: FoundAgent, { body, nowMs }: RouteRequest): Answer {
  const { state } = service
  const read = readBody(ToolBody, body)
  if ('refused' in read) return read.refused
  const id = `tool_${new Draw(agent.seed, state.nextNumber(), PURPOSE.written).hex(12)}`
  const { fields = [], ...sent } = read.value.tool as Omit<Tool, 'fields'> & { fields?: Tool['fields'] }
  const tool = toolRecord({ ...sent, id, fields, atMs: nowMs }, agent)
  state.agent(agent.agentId).tools.push(tool)
  return jsonAnswer({ success: true, message: 'Tool created successfully', data: tool })
}

/** Lists variables with their unmodified values, including those of `isEnv` (section 4.4: "including current values"). */
export function listVariables(service: SandboxService, agent: FoundAgent, { nowMs }: RouteRequest): Answer {
  const data = variablesOf(service, agent, nowMs)
  return jsonAnswer({ success: true, message: 'Variables retrieved successfully', data })
}

function variablesOf({ state }: SandboxService, agent: FoundAgent, nowMs: number): Variable[] {
  const written = state.agent(agent.agentId).variables
  const keys = new Set(written.map(({ key }) => key))
  // A variable that the world adds later may have the key of one that a caller has created.
  return [...agentVariables(agent, nowMs).filter(({ key }) => !keys.has(key)), ...written]
}

export function createVariable(service: SandboxService, agent: FoundAgent, { body, nowMs }: RouteRequest): Answer {
  const { state } = service
  const read = readBody(VariableBody, body)
  if ('refused' in read) return read.refused
  const sent = read.value.variable as Partial<Variable> & Pick<Variable, 'key'>
  if (variablesOf(service, agent, nowMs).some(({ key }) => key === sent.key))
    return fault(400, `The agent has a variable with the key ${JSON.stringify(sent.key)}`)
  const { agentId, workspaceId: userId } = agent
  const id = `var_${new Draw(agent.seed, state.nextNumber(), PURPOSE.written).hex(12)}`
  const value = sent.value ?? sent.defaultValue
  // The request has no type; the document shows only `string`.
  const type = value === undefined || value === null ? 'string' : typeof value
  const variable = { id, ...VARIABLE_DEFAULTS, ...sent, type, agentId, userId }
  state.agent(agentId).variables.push(variable)
  return jsonAnswer({ success: true, message: 'Variable created successfully', data: variable })
}

// GET and PUT /v3/agents/{agentId}/custom-metrics/{metricId} (API document, sections 2.3, 4.7 and 4.8).

const Body = z.object({
  metric: z.object({
    key: z.string().regex(/\S/, 'must not be empty').optional(),
    description: z.string().optional(),
    options: z.array(z.string()).optional(),
    type: z.string().min(1).optional(),
  }),
})

/** Returns the agent's metrics with the updates of callers. */
export function metricsOf(
  { state }: SandboxService,
  agent: Pick<FoundAgent, 'seed' | 'agent' | 'agentId' | 'createdMs'>,
) {
  const { metrics } = state.agent(agent.agentId)
  return agentMetrics(agent).map(generated => metrics.get(generated.id) ?? generated)
}

export function getMetric(service: SandboxService, agent: FoundAgent, { ids }: RouteRequest): Answer {
  const metric = metricsOf(service, agent).find(({ id }) => id === ids.metricId)
  return metric ? jsonAnswer({ success: true, metric: shown(metric) }) : fault(404, 'Metric not found')
}

/** Hides the options of a metric that is no `enum`. They are kept: an update of only the type must not change them (section 4.8). */
function shown({ options, ...metric }: Metric): Metric {
  return metric.type === 'enum' ? { ...metric, options: options ?? [] } : metric
}

/** Changes only the given fields. */
export function updateMetric(service: SandboxService, agent: FoundAgent, { ids, body, nowMs }: RouteRequest): Answer {
  const read = readBody(Body, body)
  if ('refused' in read) return read.refused
  const metrics = metricsOf(service, agent)
  const before = metrics.find(({ id }) => id === ids.metricId)
  if (before === undefined) return fault(404, 'Metric not found')
  if (before.isSystem) return fault(403, 'A system metric cannot be updated')
  const { metric: sent } = read.value
  if (metrics.some(({ id, key }) => id !== before.id && key === sent.key))
    return fault(400, `The agent has a metric with the key ${JSON.stringify(sent.key)}`)
  const type = sent.type ?? before.type
  if (sent.options && type !== 'enum') return fault(400, 'Options are only of metrics of the type enum')
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
  const metric: Metric = { ...before, ...given, updatedAtUNIX: Math.floor(nowMs / SECOND) }
  service.state.agent(agent.agentId).metrics.set(metric.id, metric)
  return jsonAnswer({ success: true, message: 'Metric updated successfully', metric: shown(metric) })
}

// GET /v3/agents/{agentId}/audit-log (API document, sections 2.4 and 4.5; limits from the notes on the API).

export const AuditQuery = z.object({
  limit: z.int().min(1).max(200).default(50),
  cursorTs: z.int().min(0).optional(),
})

/** Returns the newest entries first. `nextCursorTs` is the time of the page's last entry. */
export function getAuditLog(service: SandboxService, agent: FoundAgent, { params, nowMs }: RouteRequest): Answer {
  const read = readQuery(AuditQuery, params)
  if ('refused' in read) return read.refused
  const { limit, cursorTs = Number.POSITIVE_INFINITY } = read.value
  const { readings } = service.options
  const isInclusive = readings.auditCursor === 'inclusive'
  const newestFirst = entriesOf(service, agent, nowMs).reverse()
  const older = newestFirst.filter(({ ts }) => (isInclusive ? ts <= cursorTs : ts < cursorTs))
  const entries = older.slice(0, limit)
  const lastTs = entries.at(-1)?.ts ?? read.value.cursorTs ?? Math.floor(nowMs / SECOND)
  const hasCursor = older.length > limit || readings.lastAuditCursor === 'present'
  return jsonAnswer({ success: true, entries, nextCursorTs: hasCursor ? lastTs : null })
}

/** Returns all entries, oldest first. */
function entriesOf({ options }: SandboxService, agent: FoundAgent, nowMs: number): AuditEntry[] {
  const secret = agentVariables(agent, nowMs).filter(({ value }) => String(value).includes(CANARY))
  return generatedEntries({
    seed: agent.seed,
    agent: agent.agent,
    record: agent.record,
    variables: Object.fromEntries(secret.map(({ id, value }) => [`variables[${id}].value`, value])),
    startMs: options.startMs,
    revisedMs: revisionMs(options, agent.agent),
  })
}
