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
  faultIssues,
  type ScriptRule,
  type Stage,
} from './fault-settings.ts'

/** Properties of a request that faults depend on. */
interface FaultRequest {
  kind: FaultKind
  agentId: string | null
  params: URLSearchParams
  /** Request number from 1 since the faults were set, per kind. */
  number: number
}

export interface ChosenFault {
  name: FaultName
  param: number
  /** Seed for random choices of the fault. */
  word: number
}

type Fits = (name: FaultName) => boolean

/** The faults chosen for one request. */
export class FaultPlan {
  /** Names of the faults served so far, in order. */
  readonly served: FaultName[] = []
  private readonly choose: (fits: Fits) => ChosenFault | undefined

  constructor(choose: (fits: Fits) => ChosenFault | undefined) {
    this.choose = choose
  }

  /** Takes the chosen fault of that stage, if it fits. It is counted as served, so the caller must apply it. */
  take(stage: Stage, fits: Fits = () => true): ChosenFault | undefined {
    const chosen = this.choose(name => FAULTS[name].stage === stage && fits(name))
    if (chosen !== undefined) this.served.push(chosen.name)
    return chosen
  }
}

export class Faults {
  private readonly conditions: Conditions
  private settings: FaultSettings = {}
  private requests: Record<FaultKind, number> = noRequests()
  private served: Partial<Record<FaultName, number>> = {}
  /** Number of matches of each rule of the script. */
  private matched: number[] = []

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(conditions: Conditions, given: FaultSettings = {}) {
    this.conditions = conditions
    this.set(given)
  }

  /** Returns the validation issues of settings; empty if they are valid. */
  issuesOf(given: unknown): string[] {
    return faultIssues(given, set => this.conditions.issuesOf(set))
  }

  /**
   * Replaces all settings and resets the counts; `{}` turns every fault off.
   * @throws ConvohouseError CONFIG_INVALID
   */
  set(given: FaultSettings): void {
    const issues = this.issuesOf(given)
    if (issues.length > 0) {
      const hint = 'Give rates by name, a script of rules, or both; docs/sandbox.md lists the faults.'
      throw invalidOption('faults', `cannot be read: ${issues.join('; ')}`, hint)
    }
    this.settings = given
    this.requests = noRequests()
    this.served = {}
    this.matched = (given.script ?? []).map(() => 0)
  }

  /** Reports the settings, the requests since they were set, and how often each fault was served since then. */
  report() {
    return { settings: this.settings, requests: { ...this.requests }, served: { ...this.served } }
  }

  /** Counts the request, applies the script's condition changes, and chooses its faults. */
  plan(facts: Omit<FaultRequest, 'number'>): FaultPlan {
    const request = { ...facts, number: ++this.requests[facts.kind] }
    for (const { set } of this.match(request, rule => rule.set !== undefined)) this.conditions.set(set!)
    return new FaultPlan(fits => {
      const serves = (name: FaultName) => fits(name) && fitsRequest(name, request)
      const chosen = this.scripted(request, serves) ?? this.drawn(request, serves)
      if (chosen !== undefined) this.served[chosen.name] = (this.served[chosen.name] ?? 0) + 1
      return chosen
    })
  }

  private scripted(request: FaultRequest, serves: Fits): ChosenFault | undefined {
    for (const { fault, param } of this.match(request, ({ fault }) => fault !== undefined && serves(fault)))
      return this.chosen(fault!, param, this.draw(request, fault!))
    return undefined
  }

  /** Yields the rules that match the request; each time a rule is yielded counts towards its `times`. */
  private *match(request: FaultRequest, useful: (rule: ScriptRule) => boolean): Generator<ScriptRule> {
    for (const [place, rule] of (this.settings.script ?? []).entries()) {
      const { times = Number.POSITIVE_INFINITY } = rule
      if (this.matched[place]! >= times || !useful(rule) || !concerns(rule, request)) continue
      this.matched[place]! += 1
      yield rule
    }
  }

  private drawn(request: FaultRequest, serves: Fits): ChosenFault | undefined {
    if (request.kind !== 'export') return undefined
    const { rates = {} } = this.settings
    for (const name of FAULT_NAMES) {
      const rate = rates[name]
      if (rate === undefined || !serves(name)) continue
      const draw = this.draw(request, name)
      if (draw.chance(shareOf(rate))) return this.chosen(name, paramOf(rate), draw)
    }
    return undefined
  }

  private draw({ kind, number }: FaultRequest, name: FaultName): Draw {
    const purpose = PURPOSE.fault + 1_000 * FAULT_KINDS.indexOf(kind) + FAULT_NAMES.indexOf(name)
    return new Draw(this.settings.seed ?? 1, number, purpose)
  }

  private chosen(name: FaultName, param: number | undefined, draw: Draw): ChosenFault {
    return { name, param: param ?? FAULTS[name].param?.default ?? 0, word: draw.word() }
  }
}

const noRequests = () => Object.fromEntries(FAULT_KINDS.map(kind => [kind, 0])) as Record<FaultKind, number>

function concerns(rule: ScriptRule, { kind, agentId, number }: FaultRequest): boolean {
  const { at = number, every = 1, from = 1, to = Number.POSITIVE_INFINITY } = rule
  if ((rule.kind ?? 'export') !== kind || (rule.agentId ?? agentId) !== agentId) return false
  return at === number && number % every === 0 && number >= from && number <= to
}

function fitsRequest(name: FaultName, { kind, params }: FaultRequest): boolean {
  const { search, needs } = FAULTS[name]
  if (kind !== 'export') return search === true
  const paging = !params.has('convoIds')
  if (needs === 'paging') return paging
  return needs !== 'cursor' || (paging && Boolean(params.get('cursor')))
}
