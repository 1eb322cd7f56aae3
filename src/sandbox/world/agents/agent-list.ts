// The agents of the workspace, each made when it is first asked for.
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

  /** The agent's number, from 0; undefined for one that is not of this workspace. */
  numberOf(id: string): number | undefined {
    return this.numbers.get(id)
  }

  /** Its record as it stood; undefined for one that is not of this workspace. */
  at(id: string, nowMs: number): AgentRecord | undefined {
    const agent = this.numbers.get(id)
    if (agent === undefined) return undefined
    const record = this.records.get(id) ?? createAgentRecord(this.options, agent)
    this.records.set(id, record)
    return this.options.traffic ? this.history.at(record, agent, nowMs) : record
  }
}

// How agents change where traffic is asked for: now and then each is renamed, and its `lastModified` moves.

/** In a stretch of so many days an agent changes once, or not at all. */
const STRETCH_MS = 3 * DAY
const CHANGE_SHARE = 0.4
/** Where it has not changed for so long, it is as it was at first. */
const STRETCHES_BACK = 40

export interface AgentHistory {
  /** Times of the agent's changes, in that stretch of time, in order. */
  changesBetween(agent: number, afterMs: number, untilMs: number): number[]
  /** The record as it stood. */
  at(record: AgentRecord, agent: number, nowMs: number): AgentRecord
}

function createAgentHistory(seed: number): AgentHistory {
  const changeIn = (agent: number, stretch: number): number | undefined => {
    const draw = new Draw(mix(seed, agent), stretch, PURPOSE.agentChange)
    return draw.chance(CHANGE_SHARE) ? Math.floor((stretch + draw.unit()) * STRETCH_MS) : undefined
  }
  const lastChange = (agent: number, nowMs: number): number | undefined => {
    const stretch = Math.floor(nowMs / STRETCH_MS)
    for (let back = 0; back < STRETCHES_BACK; back++) {
      const ms = changeIn(agent, stretch - back)
      if (ms !== undefined && ms <= nowMs) return ms
    }
    return undefined
  }
  return {
    changesBetween(agent, afterMs, untilMs) {
      const changes: number[] = []
      for (let stretch = Math.floor(afterMs / STRETCH_MS); stretch * STRETCH_MS <= untilMs; stretch++) {
        const ms = changeIn(agent, stretch)
        if (ms !== undefined && ms > afterMs && ms <= untilMs) changes.push(ms)
      }
      return changes
    },
    at(record, agent, nowMs) {
      const lastModified = lastChange(agent, nowMs)
      // Every type of event is to have an agent that sends it.
      const agentPlatform = agent === 0 ? 'vg' : record.agentPlatform
      if (lastModified === undefined || lastModified <= record.createdAtUNIX * 1_000)
        return { ...record, agentPlatform }
      const day = new Date(lastModified).toISOString().slice(0, 10)
      return { ...record, agentPlatform, title: `${record.title} (${day})`, lastModified }
    },
  }
}
