// GET and PUT /v3/agents/{agentId}/custom-metrics/{metricId} (API document, sections 2.3, 4.7 and 4.8).
import { z } from 'zod'
import { SECOND } from '../../core/time.ts'
import type { SandboxService } from '../service.ts'
import { agentMetrics, type Metric } from '../world/agents/metrics.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { changeAgent, differences, type FoundAgent, ofAgent } from './of-agent.ts'
import { NO_QUERY } from './query.ts'
import { envelope, type Route, type RouteRequest } from './route.ts'

const METRIC = {
  path: '/v3/agents/{agentId}/custom-metrics/{metricId}',
  kind: 'metric',
  faultKind: 'metric',
  query: NO_QUERY,
} as const

const Body = z.object({
  metric: z.object({
    key: z.string().regex(/\S/, 'must not be empty').optional(),
    description: z.string().optional(),
    options: z.array(z.string()).optional(),
    type: z.string().min(1).optional(),
  }),
})

const MetricSchema = z.object({
  id: z.string(),
  key: z.string(),
  description: z.string(),
  type: z.string(),
  isSystem: z.boolean(),
  options: z.array(z.string()).optional(),
  createdAtUNIX: z.int(),
  updatedAtUNIX: z.int(),
})

export const METRIC_ROUTES: readonly Route[] = [
  {
    ...METRIC,
    method: 'GET',
    operation: 'getCustomMetric',
    summary: 'Get custom metric',
    response: z.object({ success: z.literal(true), metric: MetricSchema }),
    answer: ofAgent(getMetric),
  },
  {
    ...METRIC,
    method: 'PUT',
    operation: 'updateCustomMetric',
    summary: 'Update custom metric',
    body: Body,
    response: envelope({ metric: MetricSchema }),
    errors: [403],
    answer: ofAgent(updateMetric),
  },
]

const REFUSED = { '400': 400, '403': 403 } as const

/** The agent's metrics with the updates of callers. */
export function metricsOf(
  { state }: SandboxService,
  agent: Pick<FoundAgent, 'seed' | 'agent' | 'agentId' | 'createdMs'>,
) {
  const { metrics } = state.agent(agent.agentId)
  return agentMetrics(agent).map(generated => metrics.get(generated.id) ?? generated)
}

function getMetric(service: SandboxService, agent: FoundAgent, { ids }: RouteRequest): Answer {
  const metric = metricsOf(service, agent).find(({ id }) => id === ids.metricId)
  return metric ? jsonAnswer({ success: true, metric: shown(metric) }) : fault(404, 'Metric not found')
}

/** Options of a metric that is no `enum` are kept, but not shown: an update of the type alone must not change them (section 4.8). */
function shown({ options, ...metric }: Metric): Metric {
  return metric.type === 'enum' ? { ...metric, options: options ?? [] } : metric
}

/** Changes the given fields only. A request that changes nothing is accepted, and is no change of the agent. */
function updateMetric(service: SandboxService, agent: FoundAgent, { ids, body, nowMs }: RouteRequest): Answer {
  const { readings } = service.options
  const read = readBody(Body, body, readings)
  if ('refused' in read) return read.refused
  const metrics = metricsOf(service, agent)
  const before = metrics.find(({ id }) => id === ids.metricId)
  if (before === undefined) return fault(404, 'Metric not found')
  if (before.isSystem) return fault(REFUSED[readings['system-metric']], 'A system metric cannot be updated')
  const { metric: sent } = read.value
  if (metrics.some(({ id, key }) => id !== before.id && key === sent.key))
    return fault(400, `The agent has a metric with the key ${JSON.stringify(sent.key)}`)
  const type = sent.type ?? before.type
  if (sent.options && type !== 'enum') return fault(400, 'Options are only of metrics of the type enum')
  const options = sent.options ?? before.options
  const metric: Metric = {
    id: before.id,
    key: sent.key ?? before.key,
    description: sent.description ?? before.description,
    type,
    isSystem: false,
    ...(options && { options }),
    createdAtUNIX: before.createdAtUNIX,
    updatedAtUNIX: Math.floor(nowMs / SECOND),
  }
  const changed = differences(`customMetrics[${metric.id}]`, before, metric)
  const { agentId } = agent
  if (changed.length > 0)
    changeAgent(service, agent, { type: 'metric', ms: nowMs, agentId, metric, differences: changed })
  return jsonAnswer({
    success: true,
    message: 'Metric updated successfully',
    metric: shown(changed.length > 0 ? metric : before),
  })
}
