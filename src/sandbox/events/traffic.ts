// The webhook events of a time range, in order, derived hour by hour from the world. Only the last hours are cached.

import { HOUR } from '../../core/time.ts'
import type { Hostility } from '../hostile/hostility.ts'
import { MAX_CONVERSATIONS, type ResolvedOptions } from '../options.ts'
import type { AgentList } from '../world/agents/agent-list.ts'
import { recordOf } from '../world/conversation/record.ts'
import type { Channel, Life, Scene } from '../world/conversation/scene.ts'
import type { Lives } from '../world/lives.ts'
import type { Placement } from '../world/placement.ts'
import type { Exchange } from '../world/story.ts'
import { conversationPayload } from './conversation-events.ts'
import { isSentBy, type Payload, type WorldEvent } from './event-types.ts'
import { Agenda, type Happening, happeningsOf } from './happenings.ts'
import { type WorkspaceEvent, workspaceEvents } from './workspace-events.ts'

/** The conversations and agents of the world, by index and id. */
interface Conversations {
  agenda: Agenda
  /** Undefined for a conversation without an `ID`, which has no events. */
  convoId(index: number): string | undefined
  agentId(index: number): string
  agent(agentId: string, nowMs: number): { title: string; region?: unknown; agentPlatform?: unknown }
  life(index: number): Life
  channel(index: number): Channel
  exchanges(life: Life): Exchange[][]
  scene(index: number, nowMs: number): Scene
  /** The record as exported. */
  record(scene: Scene, nowMs: number): Record<string, unknown>
  /** The events of agents, organizations and clients in no particular order. */
  workspaceEvents(afterMs: number, untilMs: number): WorkspaceEvent[]
}

/** Number of hours cached. */
const KEPT_HOURS = 3

export class Traffic {
  private readonly of: Conversations
  private readonly hours = new Map<number, WorldEvent[]>()

  constructor(of: Conversations) {
    this.of = of
  }

  /** Events created after `afterMs`, up to `untilMs`, in order. */
  *between(afterMs: number, untilMs: number): Generator<WorldEvent> {
    for (let hour = Math.floor(afterMs / HOUR); hour * HOUR <= untilMs; hour++) {
      for (const event of this.inHour(hour)) {
        if (event.createdMs > untilMs) return
        if (event.createdMs > afterMs) yield event
      }
    }
  }

  private inHour(hour: number): WorldEvent[] {
    const kept = this.hours.get(hour)
    if (kept !== undefined) return kept
    const made = this.make(hour)
    this.hours.set(hour, made)
    if (this.hours.size > KEPT_HOURS) this.hours.delete(this.hours.keys().next().value!)
    return made
  }

  private make(hour: number): WorldEvent[] {
    const fromMs = hour * HOUR
    const untilMs = fromMs + HOUR - 1
    const indices = this.of.agenda.inHour(hour).toSorted((a, b) => a - b)
    const conversations = indices.flatMap(index => this.conversationEvents(index, fromMs, untilMs))
    const workspace = this.of.workspaceEvents(fromMs - 1, untilMs).map(workspaceEvent)
    // The sort is stable: events of a conversation in one millisecond keep their order.
    return [...conversations, ...workspace].sort((a, b) => a.createdMs - b.createdMs)
  }

  private conversationEvents(index: number, fromMs: number, untilMs: number): WorldEvent[] {
    const convoId = this.of.convoId(index)
    if (convoId === undefined) return []
    const life = this.of.life(index)
    const exchanges = this.of.exchanges(life)
    const agentId = this.of.agentId(index)
    const { agentPlatform } = this.of.agent(agentId, fromMs)
    return happeningsOf({ life, channel: this.of.channel(index), exchanges })
      .filter(({ type, ms }) => ms >= fromMs && ms <= untilMs && isSentBy(agentPlatform, type))
      .map(happening => this.event({ happening, index, convoId, agentId }))
  }

  private event({ happening, ...conversation }: Occurrence): WorldEvent {
    const { type, ms } = happening
    const make = () => ({ event: type, createdAt: ms, ...this.payload({ happening, ...conversation }) })
    const { agentId, convoId } = conversation
    return {
      type,
      createdMs: ms,
      agentId,
      convoId,
      get payload() {
        return make()
      },
    }
  }

  private payload({ happening, index, convoId, agentId }: Occurrence): Payload {
    const { ms } = happening
    const { title, region } = this.of.agent(agentId, ms)
    const exchanges = this.of.exchanges(this.of.life(index))
    const scene = this.of.scene(index, ms)
    const record = () => this.of.record(scene, ms)
    return conversationPayload({ happening, scene, convoId, agentId, agentName: title, region, record, exchanges })
  }
}

interface Occurrence {
  happening: Happening
  index: number
  convoId: string
  agentId: string
}

function workspaceEvent({ type, ms, agentId, payload }: WorkspaceEvent): WorldEvent {
  return {
    type,
    createdMs: ms,
    agentId,
    convoId: undefined,
    payload: { event: type, createdAt: ms, ...payload },
  }
}

interface Parts {
  options: ResolvedOptions
  placement: Placement
  lives: Lives
  hostility: Hostility
  agents: AgentList
  /** The record as JSON text, as served. */
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
    agenda: new Agenda({ placement, limit, eachSpan: (index, visit) => lives.eachSpan(index, visit) }),
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
