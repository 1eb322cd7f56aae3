// Events of the workspace's resources: agents, organizations and clients that are created, updated or deleted.

import type { AgentHistory } from '../world/agents/agent-list.ts'
import type { AgentRecord } from '../world/agents/agent-record.ts'
import { type Change, type OrganizationChange, organizationChanges, organizationName } from '../world/organizations.ts'
import type { EventName, Payload } from './event-types.ts'

export interface WorkspaceEvent {
  type: EventName
  ms: number
  agentId: string | undefined
  payload: Payload
}

interface Resources {
  seed: number
  agentIds: readonly string[]
  /** The agent at that time. */
  agent(agentId: string, nowMs: number): AgentRecord
  history: AgentHistory
}

/** Events of the workspace's resources in a time range, unordered. */
export function workspaceEvents(resources: Resources, afterMs: number, untilMs: number): WorkspaceEvent[] {
  const { seed, agentIds, history } = resources
  const ofAgents = agentIds.flatMap((agentId, agent) =>
    history.changesBetween(agent, afterMs, untilMs).map(ms => agentEvent(resources.agent(agentId, ms), 'updated', ms)),
  )
  return [...ofAgents, ...organizationChanges(seed, afterMs, untilMs).map(organizationEvent)]
}

/** `record`: the agent's current or last state. */
export function agentEvent(record: AgentRecord, change: Change, ms: number): WorkspaceEvent {
  const { ID: agentId, title: agentName, agentPlatform } = record
  const payload = { agentId, agentName, agentPlatform, operation: change }
  return { type: `agent_${change}`, ms, agentId, payload }
}

function organizationEvent({ ms, change, organization, client }: OrganizationChange): WorkspaceEvent {
  const payload: Payload = {
    organisationId: organization.id,
    organisationName: organizationName(organization, ms),
    ...(client && { clientId: client.id, clientName: client.name, clientEmail: client.email }),
    operation: change,
  }
  return { type: client ? `client_${change}` : `organisation_${change}`, ms, agentId: undefined, payload }
}
