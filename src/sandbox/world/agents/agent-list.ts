// The workspace's agents, created on first use, and their changes over time.
import { DAY } from '../../../core/time.ts'
import type { ResolvedOptions } from '../../options.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { type AgentRecord, agentId, createAgentRecord } from './agent-record.ts'

export class AgentList {
  readonly ids: readonly string[]
  readonly history: AgentHistory
  private readonly options: ResolvedOptions
  private readonly numbers: Map<string, number>
  private readonly records = new Map<string, AgentRecord>()

  constructor(options: ResolvedOptions) {
    this.options = options
    this.ids = Array.from({ length: options.agents }, (_, agent) => agentId(options.seed, agent))
    this.numbers = new Map(this.ids.map((id, agent) => [id, agent]))
    this.history = createAgentHistory(options.seed)
  }

  /** The agent's number from 0; undefined if unknown. */
  numberOf(id: string): number | undefined {
    return this.numbers.get(id)
  }

  /** The agent's record at that time; undefined if the agent is unknown. */
  at(id: string, nowMs: number): AgentRecord | undefined {
    const agent = this.numbers.get(id)
    if (agent === undefined) return undefined
    const record = this.records.get(id) ?? createAgentRecord(this.options, agent)
    this.records.set(id, record)
    return this.options.traffic ? this.history.at(record, agent, nowMs) : record
  }
}

// With traffic, agents change from time to time: each is renamed, and its `lastModified` moves.

/** An agent changes at most once per interval of this length. */
const CHANGE_INTERVAL_MS = 3 * DAY
const CHANGE_SHARE = 0.4
/** An agent that did not change in this many intervals has its initial state. */
const INTERVALS_BACK = 40

export interface AgentHistory {
  /** Times of the agent's changes in that range, in order. */
  changesBetween(agent: number, afterMs: number, untilMs: number): number[]
  /** The record at that time. */
  at(record: AgentRecord, agent: number, nowMs: number): AgentRecord
}

function createAgentHistory(seed: number): AgentHistory {
  const changeIn = (agent: number, interval: number): number | undefined => {
    const draw = new Draw(mix(seed, agent), interval, PURPOSE.agentChange)
    return draw.chance(CHANGE_SHARE) ? Math.floor((interval + draw.unit()) * CHANGE_INTERVAL_MS) : undefined
  }
  const lastChange = (agent: number, nowMs: number): number | undefined => {
    const interval = Math.floor(nowMs / CHANGE_INTERVAL_MS)
    for (let back = 0; back < INTERVALS_BACK; back++) {
      const ms = changeIn(agent, interval - back)
      if (ms !== undefined && ms <= nowMs) return ms
    }
    return undefined
  }
  return {
    changesBetween(agent, afterMs, untilMs) {
      const changes: number[] = []
      for (
        let interval = Math.floor(afterMs / CHANGE_INTERVAL_MS);
        interval * CHANGE_INTERVAL_MS <= untilMs;
        interval++
      ) {
        const ms = changeIn(agent, interval)
        if (ms !== undefined && ms > afterMs && ms <= untilMs) changes.push(ms)
      }
      return changes
    },
    at(record, agent, nowMs) {
      const lastModified = lastChange(agent, nowMs)
      // Every event type needs an agent that sends it.
      const agentPlatform = agent === 0 ? 'vg' : record.agentPlatform
      if (lastModified === undefined || lastModified <= record.createdAtUNIX * 1_000)
        return { ...record, agentPlatform }
      const day = new Date(lastModified).toISOString().slice(0, 10)
      return { ...record, agentPlatform, title: `${record.title} (${day})`, lastModified }
    },
  }
}
