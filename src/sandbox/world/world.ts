// The generated workspace: agents and their conversations, as functions of the seed, the index and the time.
//
// A world stores no record: it knows the position of each conversation in its agent's order (`roster.ts`) and renders
// records on demand. All methods take the time of the export's data; the caller subtracts the mirror's lag.

import type { WorldEvent } from '../events/event-types.ts'
import { Traffic } from '../events/traffic.ts'
import { createHostility, type Hostility } from '../hostile/hostility.ts'
import { MAX_CONVERSATIONS, type ResolvedOptions, resolveOptions, type SandboxOptions } from '../options.ts'
import type { AgentRecord } from './agents/agent-record.ts'
import { AgentList } from './agents/agent-record.ts'
import { renderDocument } from './conversation/record.ts'
import { createScene } from './conversation/scene.ts'
import { createPlacement, type Placement } from './placement.ts'
import type { IsCurrent, Place, Walk } from './roster.ts'
import { Roster } from './roster.ts'
import { activityMoment, billableSessions, createScheduler, type Scheduler } from './schedule.ts'
import { type Life, lifeOf, momentsOf } from './story.ts'

/** Exceeds the number of moments of any life: four sessions with seven each, archiving, a rating and three notes. */
const VERSIONS = 40

/** A conversation record of section 2.10, as a client parses it. */
type ConversationDocument = Record<string, unknown>

/** A conversation with facts that the export does not reveal. */
interface TrueConversation {
  id: string
  /** Rendered each time it is read. */
  readonly document: ConversationDocument
  /** 0 if no person has written in it, so that the export skips it and never bills it. */
  billableSessions: number
}

/** Counts of an agent's conversations at a moment. */
interface Tally {
  visible: number
  exportable: number
  /** Number of records that are returned and billed but are no conversations: without an `ID`, or not an object. */
  nameless: number
}

export class World {
  private readonly options: ResolvedOptions
  private readonly placement: Placement
  private readonly schedule: Scheduler
  private readonly roster: Roster
  private readonly hostility: Hostility
  private readonly agents: AgentList
  private readonly traffic: Traffic

  constructor(options: ResolvedOptions) {
    this.options = options
    this.placement = createPlacement(options)
    this.schedule = createScheduler(options, this.placement)
    this.roster = new Roster(options, this.placement, this.schedule)
    this.hostility = createHostility(options)
    this.agents = new AgentList(options)
    const { placement, schedule, hostility, agents } = this
    const render = (index: number, nowMs: number) => this.render(index, nowMs)
    this.traffic = new Traffic({ options, placement, schedule, hostility, agents, render })
  }

  agentIds(): string[] {
    return [...this.agents.ids]
  }

  /** Returns the agent's record (section 2.12) at that time, by default at the start; undefined for unknown agents. */
  agent(id: string, nowMs = this.options.startMs): AgentRecord | undefined {
    return this.agents.at(id, nowMs)
  }

  /** Yields the webhook events created after `afterMs`, up to `untilMs`, in order. */
  events(afterMs: number, untilMs: number): Generator<WorldEvent> {
    return this.traffic.between(afterMs, untilMs)
  }

  /** Yields every conversation in the mirror at that time, in order of creation, except those without an `ID`. */
  *conversations(id: string, nowMs: number): Generator<TrueConversation> {
    for (const index of this.shown(id, nowMs)) {
      const conversation = this.hostility.idOf(index)
      if (conversation !== undefined) yield this.truth(index, conversation, nowMs)
    }
  }

  tally(id: string, nowMs: number): Tally {
    const sum: Tally = { visible: 0, exportable: 0, nameless: 0 }
    for (const index of this.shown(id, nowMs)) {
      sum.visible++
      if (this.billable(index, nowMs) > 0) sum[this.hostility.isNameless(index) ? 'nameless' : 'exportable']++
    }
    return sum
  }

  /** Yields positions in export order; finding the first is O(log n), each further one O(1). */
  *walk(id: string, walk: Walk, nowMs: number): Generator<Place> {
    const agent = this.agents.numberOf(id)
    if (agent === undefined) return
    // The order also contains future positions, which need no visit.
    const toMs = Math.min(walk.toMs, nowMs)
    yield* this.roster.orderOf(agent, nowMs).walk({ ...walk, toMs }, this.isCurrent(nowMs))
  }

  /** Finds the index of the agent's conversation; undefined if unknown, of another agent, or not in the mirror yet. */
  find(id: string, conversation: string, nowMs: number): number | undefined {
    const index = this.hostility.indexOf(conversation)
    if (index === undefined || !this.exists(index)) return undefined
    if (this.placement.agentOf(index) !== this.agents.numberOf(id)) return undefined
    return this.placement.createdMs(index) <= nowMs ? index : undefined
  }

  /** Counts the sessions that an export of the conversation bills; 0 if it is skipped. */
  billable(index: number, nowMs: number): number {
    return billableSessions(this.schedule(index), nowMs)
  }

  /** Returns a key of the record's state: the keys of two times are equal exactly if the record is the same at both. */
  stateKey(index: number, nowMs: number): number {
    return index * VERSIONS + momentsOf(this.life(index)).filter(ms => ms <= nowMs).length
  }

  /** Renders the record as JSON text, as it is served; the conversation must have begun by then. */
  render(index: number, nowMs: number): string {
    return this.hostility.mutate(index, renderDocument(createScene(this.options, this.life(index), nowMs)))
  }

  private life(index: number): Life {
    return lifeOf(this.options.seed, this.schedule(index))
  }

  private truth(index: number, id: string, nowMs: number): TrueConversation {
    const render = () => this.render(index, nowMs)
    return {
      id,
      get document() {
        return JSON.parse(render()) as ConversationDocument
      },
      billableSessions: this.billable(index, nowMs),
    }
  }

  private shown(id: string, nowMs: number): Iterable<number> {
    const agent = this.agents.numberOf(id)
    return agent === undefined ? [] : this.roster.shown(agent, nowMs)
  }

  private exists(index: number): boolean {
    const { conversations, arrivalsPerDay } = this.options
    return index < conversations || (arrivalsPerDay > 0 && index < MAX_CONVERSATIONS)
  }

  private isCurrent(nowMs: number): IsCurrent {
    const isShown = (index: number) => this.placement.createdMs(index) <= nowMs
    if (this.options.ts === 'created') return isShown
    return (index, moment) => {
      if (!isShown(index)) return false
      const { hasTs, sessions } = this.schedule(index)
      if (!hasTs) return true
      return activityMoment(sessions, moment) <= nowMs && activityMoment(sessions, moment + 1) > nowMs
    }
  }
}

/** Creates a world; omitted options have their default. */
export const createWorld = (given: Partial<SandboxOptions>): World => new World(resolveOptions(given))

/** Caches rendered records; begins anew when they exceed `maxBytes`. */
export class RecordCache {
  private readonly maxBytes: number
  private readonly records = new Map<number, Buffer>()
  private bytes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Returns the record of that state; renders it if it is not cached. */
  get(stateKey: number, render: () => string): Buffer {
    const kept = this.records.get(stateKey)
    if (kept !== undefined) return kept
    const record = Buffer.from(render())
    if (this.bytes + record.length > this.maxBytes) {
      this.records.clear()
      this.bytes = 0
    }
    this.records.set(stateKey, record)
    this.bytes += record.length
    return record
  }
}
