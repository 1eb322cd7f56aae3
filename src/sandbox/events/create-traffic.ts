// The traffic of a world, put together from what the world is made of.
import type { AgentList } from '../agents/agent-list.ts'
import { recordOf } from '../document/document.ts'
import type { Hostility } from '../hostile/hostility.ts'
import type { Lives } from '../lives.ts'
import type { ResolvedOptions } from '../options.ts'
import { MAX_CONVERSATIONS } from '../options.ts'
import type { Placement } from '../placement.ts'
import { Agenda } from './agenda.ts'
import { Traffic } from './traffic.ts'
import { workspaceEvents } from './workspace-events.ts'

interface Parts {
  options: ResolvedOptions
  placement: Placement
  lives: Lives
  hostility: Hostility
  agents: AgentList
  /** The record as JSON text, as it is served. */
  render(index: number, nowMs: number): string
}

export function createTraffic({ options, placement, lives, hostility, agents, render }: Parts): Traffic {
  const { seed, traffic, conversations, arrivalsPerDay } = options
  const limit = arrivalsPerDay > 0 ? MAX_CONVERSATIONS : conversations
  const resources = { seed, agentIds: agents.ids, agent: agentAt, history: agents.history }

  function agentAt(agentId: string, nowMs: number) {
    return agents.at(agentId, nowMs)!
  }

  return new Traffic({
    agenda: new Agenda({ placement, limit, eachSpan: (index, see) => lives.eachSpan(index, see) }),
    convoId: index => hostility.idOf(index),
    agentId: index => agents.ids[placement.agentOf(index)]!,
    agent: agentAt,
    life: index => lives.life(index),
    channel: index => lives.channel(index),
    exchanges: life => lives.exchanges(life),
    scene: (index, nowMs) => lives.scene(index, nowMs),
    record: (scene, nowMs) =>
      hostility.isNone && lives.shape === undefined
        ? recordOf(scene)
        : (JSON.parse(render(scene.index, nowMs)) as Record<string, unknown>),
    workspaceEvents: (afterMs, untilMs) => (traffic ? workspaceEvents(resources, afterMs, untilMs) : []),
  })
}
