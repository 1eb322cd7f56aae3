// Events of the workspace's resources: agents, organizations and clients that are created, updated or deleted.

import type { AgentList, AgentRecord } from '../world/agents/agent-record.ts'
import { type Change, type OrganizationChange, organizationChanges, organizationName } from '../world/organizations.ts'
import type { Payload, WorldEvent } from './event-types.ts'

/** Returns the events of the workspace's resources in a time range, unordered. */
export function workspaceEvents(seed: number, agents: AgentList, afterMs: number, untilMs: number): WorldEvent[] {
  const ofAgents = agents.ids.flatMap(id =>
    agents.changesBetween(id, afterMs, untilMs).map(ms => agentEvent(agents.at(id, ms)!, 'updated', ms)),
  )
  return [...ofAgents, ...organizationChanges(seed, afterMs, untilMs).map(organizationEvent)]
}

/** Returns an event about an agent. `record`: the agent's current or last state. */
export function agentEvent(record: AgentRecord, change: Change, ms: number): WorldEvent {
  const { ID: agentId, title: agentName, agentPlatform } = record
  return workspaceEvent(`agent_${change}`, ms, { agentId, agentName, agentPlatform, operation: change }, agentId)
}

export function organizationEvent({ ms, change, organization, client }: OrganizationChange): WorldEvent {
  const payload: Payload = {
    organisationId: organization.id,
    organisationName: organizationName(organization, ms),
    ...(client && { clientId: client.id, clientName: client.name, clientEmail: client.email }),
    operation: change,
  }
  return workspaceEvent(client ? `client_${change}` : `organisation_${change}`, ms, payload)
}

const workspaceEvent = (type: WorldEvent['type'], ms: number, fields: Payload, agentId?: string): WorldEvent => ({
  ...{ type, createdMs: ms, agentId, convoId: undefined },
  payload: { event: type, createdAt: ms, ...fields },
})
