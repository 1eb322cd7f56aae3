// A script of faults: which of its rules a request meets, and how often each has been met.
import type { ScriptRule } from './fault-settings.ts'

export type FaultKind = 'export' | 'search'

/** A request of the API, as far as faults go by it. */
export interface Asked {
  kind: FaultKind
  agentId: string | null
  params: URLSearchParams
  /** Counted from 1 since the faults were set, for each kind by itself. */
  number: number
}

export class Script {
  private readonly rules: readonly ScriptRule[]
  private readonly met: number[]

  constructor(rules: readonly ScriptRule[]) {
    this.rules = rules
    this.met = rules.map(() => 0)
  }

  /** The rules that the request meets, of those that are of use; each that is drawn from it counts as met. */
  *meet(asked: Asked, useful: (rule: ScriptRule) => boolean): Generator<ScriptRule> {
    for (const [place, rule] of this.rules.entries()) {
      const { times = Number.POSITIVE_INFINITY } = rule
      if (this.met[place]! >= times || !useful(rule) || !fits(rule, asked)) continue
      this.met[place]! += 1
      yield rule
    }
  }
}

function fits(rule: ScriptRule, { kind, agentId, number }: Asked): boolean {
  if ((rule.kind ?? 'export') !== kind) return false
  if (rule.agentId !== undefined && rule.agentId !== agentId) return false
  if (rule.at !== undefined && rule.at !== number) return false
  if (rule.every !== undefined && number % rule.every !== 0) return false
  return number >= (rule.from ?? 1) && number <= (rule.to ?? Number.POSITIVE_INFINITY)
}
