// The agents of the workspace, each made when it is first asked for.
import type { ResolvedOptions } from '../options.ts'
import type { AgentHistory } from './agent-history.ts'
import { createAgentHistory } from './agent-history.ts'
import type { AgentRecord } from './agent-record.ts'
import { agentId, createAgentRecord } from './agent-record.ts'

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
