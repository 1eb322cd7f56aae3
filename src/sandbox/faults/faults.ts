// Chooses the faults of each request and counts those that were served.
//
// A rate's random draw depends on seed, request number and fault: changing one rate does not change which requests another fault
// hits, and the same sequence of requests gets the same faults. The script takes precedence over the rates.
import type { Conditions } from '../limits/conditions.ts'
import { invalidOption, paramOf, shareOf } from '../rates.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import {
  FAULT_KINDS,
  FAULT_NAMES,
  FAULTS,
  type FaultKind,
  type FaultName,
  type FaultSettings,
  readFaultSettings,
  Script,
  type ScriptRule,
  type Stage,
} from './fault-settings.ts'

/** The parts of a request that faults depend on. */
interface FaultRequest {
  kind: FaultKind
  agentId: string | null
  params: URLSearchParams
  /** Request number from 1 since the faults were set, per kind. */
  number: number
}

export interface ReportedFaults {
  settings: FaultSettings
  /** Requests since the faults were set. */
  requests: Record<FaultKind, number>
  /** How often each fault was served since then; faults that were never served are absent. */
  served: Partial<Record<FaultName, number>>
}

export interface ChosenFault {
  name: FaultName
  param: number
  /** Seed for random choices of the fault. */
  word: number
}

type Fits = (name: FaultName) => boolean

type Choose = (fits: Fits) => ChosenFault | undefined

/** The faults chosen for one request. */
export class FaultPlan {
  /** Names of the faults served so far, in order. */
  readonly served: FaultName[] = []
  private readonly choose: Choose

  constructor(choose: Choose = () => undefined) {
    this.choose = choose
  }

  /** The chosen fault of that stage, if it fits. It is counted as served, so the caller must apply it. */
  take(stage: Stage, fits: Fits = () => true): ChosenFault | undefined {
    const chosen = this.choose(name => FAULTS[name].stage === stage && fits(name))
    if (chosen !== undefined) this.served.push(chosen.name)
    return chosen
  }
}

export class Faults {
  private readonly conditions: Conditions
  private settings: FaultSettings = {}
  private script = new Script<ScriptRule>([])
  private requests: Record<FaultKind, number> = noRequests()
  private served: Partial<Record<FaultName, number>> = {}
  private on = false

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(conditions: Conditions, given: FaultSettings = {}) {
    this.conditions = conditions
    this.set(given)
  }

  /** Validation issues of settings; empty if they are valid. */
  issuesOf(given: unknown): string[] {
    const read = this.read(given)
    return 'issues' in read ? read.issues : []
  }

  /**
   * Replaces all settings and resets the counts; `{}` turns every fault off.
   * @throws ConvohouseError CONFIG_INVALID
   */
  set(given: FaultSettings): void {
    const read = this.read(given)
    if ('issues' in read) {
      const hint = 'Give rates by name, a script of rules, or both; docs/sandbox.md lists the faults.'
      throw invalidOption('faults', `cannot be read: ${read.issues.join('; ')}`, hint)
    }
    this.settings = read.settings
    const { rates = {}, script = [] } = read.settings
    this.script = new Script(script)
    this.requests = noRequests()
    this.served = {}
    this.on = script.length > 0 || Object.values(rates).some(rate => shareOf(rate) > 0)
  }

  report(): ReportedFaults {
    return { settings: this.settings, requests: { ...this.requests }, served: { ...this.served } }
  }

  /** Counts the request, applies the script's condition changes, and chooses its faults. */
  plan(facts: Omit<FaultRequest, 'number'>): FaultPlan {
    const number = ++this.requests[facts.kind]
    if (!this.on) return new FaultPlan()
    const request = { ...facts, number }
    for (const { set } of this.script.match(number, rule => rule.set !== undefined && concerns(rule, request)))
      this.conditions.set(set!)
    return new FaultPlan(fits => {
      const serves = (name: FaultName) => fits(name) && fitsRequest(name, request)
      const chosen = this.scripted(request, serves) ?? this.drawn(request, serves)
      if (chosen !== undefined) this.served[chosen.name] = (this.served[chosen.name] ?? 0) + 1
      return chosen
    })
  }

  private read(given: unknown) {
    return readFaultSettings(given, set => this.conditions.issuesOf(set))
  }

  private scripted(request: FaultRequest, serves: Fits): ChosenFault | undefined {
    const useful = (rule: ScriptRule) => rule.fault !== undefined && serves(rule.fault) && concerns(rule, request)
    for (const { fault, param } of this.script.match(request.number, useful)) {
      return this.chosen(fault!, param, this.draw(request, fault!))
    }
    return undefined
  }

  private drawn(request: FaultRequest, serves: Fits): ChosenFault | undefined {
    const { rates = {}, search = false } = this.settings
    if (request.kind !== 'export' && !search) return undefined
    for (const name of FAULT_NAMES) {
      const rate = rates[name]
      if (rate === undefined || !serves(name)) continue
      const draw = this.draw(request, name)
      if (draw.chance(shareOf(rate))) return this.chosen(name, paramOf(rate), draw)
    }
    return undefined
  }

  private draw({ kind, number }: FaultRequest, name: FaultName): Draw {
    return new Draw(this.settings.seed ?? 1, number, PURPOSE[`${kind}Fault`] + FAULT_NAMES.indexOf(name))
  }

  private chosen(name: FaultName, param: number | undefined, draw: Draw): ChosenFault {
    return { name, param: param ?? FAULTS[name].param?.default ?? 0, word: draw.word() }
  }
}

const noRequests = () => Object.fromEntries(FAULT_KINDS.map(kind => [kind, 0])) as Record<FaultKind, number>

function concerns({ kind = 'export', agentId }: ScriptRule, request: FaultRequest): boolean {
  return kind === request.kind && (agentId === undefined || agentId === request.agentId)
}

function fitsRequest(name: FaultName, { kind, params }: FaultRequest): boolean {
  const { search, needs } = FAULTS[name]
  if (kind !== 'export') return search === true
  const paging = !params.has('convoIds')
  if (needs === 'paging') return paging
  return needs !== 'cursor' || (paging && Boolean(params.get('cursor')))
}
