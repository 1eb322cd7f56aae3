// Chooses the faults of each event: a draw from seed, event number and fault, so that changing one rate does not change which
// events another fault hits. The script takes precedence over the rates.
import type { WorldEvent } from '../events/event-types.ts'
import { Script } from '../faults/fault-settings.ts'
import { paramOf, shareOf } from '../rates.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import {
  EVENT_FAULT_NAMES,
  EVENT_FAULTS,
  type EventFaultName,
  type EventFaultSettings,
  type EventRule,
  type EventStage,
} from './webhook-settings.ts'

interface EventFault {
  name: EventFaultName
  param: number
}

/** At most one fault per stage. */
export type EventFaultPlan = Partial<Record<EventStage, EventFault>>

const STAGES: readonly EventStage[] = ['content', 'pace', 'copies']

export class EventFaults {
  readonly settings: EventFaultSettings
  private readonly script: Script<EventRule>
  private count = 0
  private served: Partial<Record<EventFaultName, number>> = {}

  /** The settings must be valid; `webhook-settings.ts` checks them. */
  constructor(settings: EventFaultSettings = {}) {
    this.settings = settings
    this.script = new Script(settings.script ?? [])
  }

  /** Events since the faults were set, and how often each fault was applied; faults never applied are absent. */
  report() {
    return { events: this.count, served: { ...this.served } }
  }

  /** Counts the event and chooses its faults. */
  planFor(event: WorldEvent): EventFaultPlan {
    const number = ++this.count
    const plan: EventFaultPlan = {}
    for (const stage of STAGES) {
      const fault = this.scripted(event, number, stage) ?? this.drawn(number, stage)
      // A dropped event is neither delayed nor repeated.
      if (fault === undefined || plan.content?.name === 'dropped') continue
      plan[stage] = fault
      this.served[fault.name] = (this.served[fault.name] ?? 0) + 1
    }
    return plan
  }

  private scripted(event: WorldEvent, number: number, stage: EventStage): EventFault | undefined {
    const useful = (rule: EventRule) => EVENT_FAULTS[rule.fault].stage === stage && concerns(rule, event)
    for (const { fault, param } of this.script.match(number, useful)) return faultOf(fault, param)
    return undefined
  }

  private drawn(number: number, stage: EventStage): EventFault | undefined {
    const { rates = {}, seed = 1 } = this.settings
    for (const [place, name] of EVENT_FAULT_NAMES.entries()) {
      const rate = rates[name]
      if (rate === undefined || EVENT_FAULTS[name].stage !== stage) continue
      if (new Draw(seed, number, PURPOSE.eventFault + place).chance(shareOf(rate))) return faultOf(name, paramOf(rate))
    }
    return undefined
  }
}

const faultOf = (name: EventFaultName, param: number | undefined): EventFault => ({
  name,
  param: param ?? EVENT_FAULTS[name].param?.default ?? 0,
})

function concerns({ type, agentId, convoId }: EventRule, event: WorldEvent): boolean {
  if (type !== undefined && type !== event.type) return false
  if (agentId !== undefined && agentId !== event.agentId) return false
  return convoId === undefined || convoId === event.convoId
}
