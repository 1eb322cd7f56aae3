// What the routes of an agent's resources share: the agent must exist, and a write is reported as a change of the agent.
import { agentEvent } from '../events/workspace-events.ts'
import type { SandboxService } from '../service.ts'
import type { Change, Difference } from '../state/written-state.ts'
import type { AgentRecord } from '../world/agents/agent-record.ts'
import { text } from '../world/agents/audit-log.ts'
import type { VariableOwner } from '../world/agents/variables.ts'
import { type Answer, fault } from './answer.ts'
import type { Route, RouteRequest } from './route.ts'

export interface FoundAgent extends VariableOwner {
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

type AgentChange = Extract<Change, { agentId: string }>

/**
 * Records a write on an agent and posts `agent_updated`. This is our reading: section 6.3 has no event of tools, variables or
 * metrics.
 */
export function changeAgent({ state, webhooks }: SandboxService, { record }: FoundAgent, change: AgentChange): void {
  state.record(change)
  const { type, payload } = agentEvent(record, 'updated', change.ms)
  webhooks.announce(type, payload, record.ID)
}

/** One difference for each field that changed, `path.field`. Ids and times of changes are no fields. */
export function differences(path: string, before: object | undefined, after: object): Difference[] {
  const old = (before ?? {}) as Record<string, unknown>
  return Object.entries(after).flatMap(([name, value]) => {
    const difference = { field: `${path}.${name}`, oldValue: text(old[name]), newValue: text(value) }
    return NO_FIELDS.includes(name) || difference.oldValue === difference.newValue ? [] : [difference]
  })
}

const NO_FIELDS = ['id', 'agentId', 'userId', 'createdAt', 'updatedAt', 'createdAtUNIX', 'updatedAtUNIX']
