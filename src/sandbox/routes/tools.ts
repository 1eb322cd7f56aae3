// GET /v3/agents/{agentId}/tools (API document, section 4.2).
import type { SandboxService } from '../service.ts'
import { otherTools, type Tool } from '../world/agents/tools.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import type { Route, RouteRequest } from './route.ts'

const PATH = '/v3/agents/{agentId}/tools'

export const TOOL_ROUTES: readonly Route[] = [
  { method: 'GET', path: PATH, kind: 'tools', faultKind: 'tools', params: [], answer: listTools },
]

/** The agent's current tools: the one in its record, and others that are created and deleted over time. */
function listTools({ options, world, conditions }: SandboxService, { ids, nowMs }: RouteRequest): Answer {
  const agentId = ids.agentId!
  const record = world.agent(agentId, nowMs)
  if (record === undefined || conditions.isGone(agentId)) return fault(404, 'Agent not found')
  const agent = world.agentIds().indexOf(agentId)
  const { seed, workspaceId } = options
  const owner = { agent, agentId, workspaceId, createdMs: record.createdAtUNIX * 1_000 }
  const data = [...(record.tools as Tool[]), ...otherTools(owner, seed, nowMs)]
  return jsonAnswer({ success: true, message: 'Tools retrieved successfully', data })
}
