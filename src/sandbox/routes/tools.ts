// GET /v3/agents/{agentId}/tools (API document, section 4.2).
import type { Conditions } from '../limits/conditions.ts'
import type { ResolvedOptions } from '../options.ts'
import { otherTools, type Tool } from '../world/agents/tools.ts'
import type { World } from '../world/world.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { invalidQuery } from './list-page.ts'

interface Asked {
  options: ResolvedOptions
  world: World
  conditions: Conditions
  agentId: string
  params: URLSearchParams
  nowMs: number
}

/** The tools of an agent as they are now: the one in its record, and others that come and go. */
export function answerTools({ options, world, conditions, agentId, params, nowMs }: Asked): Answer {
  if (options.readings['unknown-params'] === 'refused' && params.size > 0)
    return invalidQuery([...new Set(params.keys())].map(name => `${name} is not known`))
  const record = world.agent(agentId, nowMs)
  if (record === undefined || conditions.isGone(agentId)) return fault(404, 'Agent not found')
  const agent = world.agentIds().indexOf(agentId)
  const { seed, workspaceId } = options
  const owner = { agent, agentId, workspaceId, createdMs: record.createdAtUNIX * 1_000 }
  const data = [...(record.tools as Tool[]), ...otherTools(owner, seed, nowMs)]
  return jsonAnswer({ success: true, message: 'Tools retrieved successfully', data })
}
