// The workspace's agents, created on first use. With traffic they change from time to time: each is renamed, and `lastModified` moves.
import { DAY } from '../../../core/time.ts'
import type { ResolvedOptions } from '../../options.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { type AgentRecord, agentId, createAgentRecord } from './agent-record.ts'

/** An agent changes at most once per interval of this length. */
const CHANGE_INTERVAL_MS = 3 * DAY
const CHANGE_SHARE = 0.4
/** An agent that did not change for this long has its initial state. */
const LONGEST_MS = 40 * CHANGE_INTERVAL_MS

export class AgentList {
  readonly ids: readonly string[]
  private readonly options: ResolvedOptions
  private readonly numbers: Map<string, number>
  private readonly records = new Map<string, AgentRecord>()

  constructor(options: ResolvedOptions) {
    this.options = options
    this.ids = Array.from({ length: options.agents }, (_, agent) => agentId(options.seed, agent))
    this.numbers = new Map(this.ids.map((id, agent) => [id, agent]))
  }

  /** The agent's number from 0; undefined if unknown. */
  numberOf(id: string): number | undefined {
    return this.numbers.get(id)
  }

  /** Returns the agent's record at that time; undefined if the agent is unknown. */
  at(id: string, nowMs: number): AgentRecord | undefined {
    const agent = this.numbers.get(id)
    if (agent === undefined) return undefined
    const record = this.records.get(id) ?? createAgentRecord(this.options, agent)
    this.records.set(id, record)
    if (!this.options.traffic) return record
    // Every event type needs an agent that sends it.
    const agentPlatform = agent === 0 ? 'vg' : record.agentPlatform
    const lastModified = this.changesBetween(id, nowMs - LONGEST_MS, nowMs).at(-1)
    if (lastModified === undefined || lastModified <= record.createdAtUNIX * 1_000) return { ...record, agentPlatform }
    const day = new Date(lastModified).toISOString().slice(0, 10)
    return { ...record, agentPlatform, title: `${record.title} (${day})`, lastModified }
  }

  /** Returns the times of the agent's changes in that range, in order; none without traffic. */
  changesBetween(id: string, afterMs: number, untilMs: number): number[] {
    const agent = this.numbers.get(id)
    if (agent === undefined || !this.options.traffic) return []
    const changes: number[] = []
    const first = Math.floor(afterMs / CHANGE_INTERVAL_MS)
    for (let interval = first; interval * CHANGE_INTERVAL_MS <= untilMs; interval++) {
      const draw = new Draw(mix(this.options.seed, agent), interval, PURPOSE.agentChange)
      if (!draw.chance(CHANGE_SHARE)) continue
      const ms = Math.floor((interval + draw.unit()) * CHANGE_INTERVAL_MS)
      if (ms > afterMs && ms <= untilMs) changes.push(ms)
    }
    return changes
  }
}
