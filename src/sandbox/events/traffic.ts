// The webhook events of a time range, in order, derived hour by hour from the world. Only the last hours are cached.
import { HOUR } from '../../core/time.ts'
import type { Hostility } from '../hostile/hostility.ts'
import { MAX_CONVERSATIONS, type ResolvedOptions } from '../options.ts'
import type { AgentList } from '../world/agents/agent-record.ts'
import { recordOf } from '../world/conversation/record.ts'
import { channelOf, createScene } from '../world/conversation/scene.ts'
import type { Placement } from '../world/placement.ts'
import { LONGEST_LIFETIME_MS, type Scheduler } from '../world/schedule.ts'
import { coarseMomentsOf, lifeOf } from '../world/story.ts'
import { conversationPayload, type Happening, happeningsOf } from './conversation-events.ts'
import { isSentBy, type Payload, type WorldEvent } from './event-types.ts'
import { workspaceEvents } from './workspace-events.ts'

interface Parts {
  options: ResolvedOptions
  placement: Placement
  schedule: Scheduler
  hostility: Hostility
  agents: AgentList
  /** Renders the record as JSON text, as served. */
  render(index: number, nowMs: number): string
}

interface Subject {
  index: number
  convoId: string
  agentId: string
}

/** Number of hours cached. */
const KEPT_HOURS = 3

export class Traffic {
  private readonly parts: Parts
  private readonly hours = new Map<number, WorldEvent[]>()
  /** Hours, from the epoch, in which something happens to a conversation, by its index. */
  private readonly eventful = new Map<number, Set<number>>()

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Yields the events created after `afterMs`, up to `untilMs`, in order. */
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
    const conversations = this.conversationsIn(hour).flatMap(index => this.conversationEvents(index, fromMs, untilMs))
    const { options, agents } = this.parts
    const workspace = options.traffic ? workspaceEvents(options.seed, agents, fromMs - 1, untilMs) : []
    // The sort is stable: events of a conversation in one millisecond keep their order.
    return [...conversations, ...workspace].sort((a, b) => a.createdMs - b.createdMs)
  }

  /** A conversation without an `ID` has no events. */
  private conversationEvents(index: number, fromMs: number, untilMs: number): WorldEvent[] {
    const { options, placement, schedule, hostility, agents } = this.parts
    const convoId = hostility.idOf(index)
    if (convoId === undefined) return []
    const agentId = agents.ids[placement.agentOf(index)]!
    const { agentPlatform } = agents.at(agentId, fromMs)!
    return happeningsOf(lifeOf(options.seed, schedule(index)), channelOf(options.seed, index))
      .filter(({ type, ms }) => ms >= fromMs && ms <= untilMs && isSentBy(agentPlatform, type))
      .map(happening => this.event(happening, { index, convoId, agentId }))
  }

  private event(happening: Happening, subject: Subject): WorldEvent {
    const { type, ms } = happening
    const payload = () => ({ event: type, createdAt: ms, ...this.payload(happening, subject) })
    return {
      type,
      createdMs: ms,
      agentId: subject.agentId,
      convoId: subject.convoId,
      get payload() {
        return payload()
      },
    }
  }

  private payload(happening: Happening, { index, convoId, agentId }: Subject): Payload {
    const { options, schedule, hostility, agents, render } = this.parts
    const { ms } = happening
    const { title: agentName, region } = agents.at(agentId, ms)!
    const scene = createScene(options, lifeOf(options.seed, schedule(index)), ms)
    const record = () =>
      hostility.isNone ? recordOf(scene) : (JSON.parse(render(index, ms)) as Record<string, unknown>)
    return conversationPayload({ happening, scene, convoId, agentId, agentName, region, record })
  }

  /**
   * Returns the indices of the conversations in which something happens during that hour. They began at most
   * `LONGEST_LIFETIME_MS` before it.
   */
  private conversationsIn(hour: number): number[] {
    const until = this.firstSince((hour + 1) * HOUR)
    const found: number[] = []
    for (let index = this.firstSince(hour * HOUR - LONGEST_LIFETIME_MS); index < until; index++)
      if (this.hoursOf(index).has(hour)) found.push(index)
    return found
  }

  private hoursOf(index: number): ReadonlySet<number> {
    const { options, schedule } = this.parts
    const moments = () => coarseMomentsOf(options.seed, schedule(index))
    const kept = this.eventful.get(index) ?? new Set(moments().map(ms => Math.floor(ms / HOUR)))
    this.eventful.set(index, kept)
    return kept
  }

  /** Finds the first conversation that begins at or after that time, by bisection. */
  private firstSince(ms: number): number {
    const { options, placement } = this.parts
    let low = 0
    let high = options.arrivalsPerDay > 0 ? MAX_CONVERSATIONS : options.conversations
    while (low < high) {
      const middle = (low + high) >>> 1
      if (placement.createdMs(middle) < ms) low = middle + 1
      else high = middle
    }
    return low
  }
}
