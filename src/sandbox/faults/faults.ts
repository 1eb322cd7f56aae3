// Chooses the faults of each request and counts those that were served.
//
// A rate's random draw depends on seed, request number and fault: changing one rate does not change which requests another fault
// hits, and the same sequence of requests gets the same faults. The script takes precedence over the rates.
import { invalidOption, issueTexts, paramOf, shareOf } from '../rates.ts'
import type { RequestKind } from '../request-log.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import { FAULT_NAMES, FAULTS, type FaultName, FaultSettings, type Stage } from './fault-settings.ts'

/** Properties of a request that faults depend on. */
interface FaultRequest {
  kind: RequestKind
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

/** The faults of one request. */
export interface FaultPlan {
  /** Names of the faults served so far, in order. */
  served: FaultName[]
  /** Takes the chosen fault of that stage, if it fits. It is counted as served, so the caller must apply it. */
  take(stage: Stage, fits?: Fits): ChosenFault | undefined
}

export class Faults {
  private settings: FaultSettings = {}
  private requests: Partial<Record<RequestKind, number>> = {}
  /** How often each fault was served since the faults were set. */
  served: Partial<Record<FaultName, number>> = {}

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(given: FaultSettings) {
    this.set(given)
  }

  /**
   * Replaces all settings and resets the counts; `{}` turns every fault off.
   * @throws ConvohouseError CONFIG_INVALID
   */
  set(given: FaultSettings): void {
    const { error } = FaultSettings.safeParse(given)
    if (error) {
      const hint = 'Give rates by name, a script of rules, or both; docs/sandbox.md lists the faults.'
      throw invalidOption('faults', `cannot be read: ${issueTexts(error).join('; ')}`, hint)
    }
    this.settings = given
    this.requests = {}
    this.served = {}
  }

  /** Counts the request and chooses its faults. */
  plan(facts: Omit<FaultRequest, 'number'>): FaultPlan {
    const number = (this.requests[facts.kind] ?? 0) + 1
    this.requests[facts.kind] = number
    const request = { ...facts, number }
    const served: FaultName[] = []
    const take: FaultPlan['take'] = (stage, fits = () => true) => {
      const serves = (name: FaultName) => FAULTS[name].stage === stage && fits(name) && fitsRequest(name, request)
      const chosen = this.scripted(request, serves) ?? this.drawn(request, serves)
      if (chosen === undefined) return undefined
      served.push(chosen.name)
      this.served[chosen.name] = (this.served[chosen.name] ?? 0) + 1
      return chosen
    }
    return { served, take }
  }

  private scripted(request: FaultRequest, serves: Fits): ChosenFault | undefined {
    const rule = (this.settings.script ?? []).find(
      ({ fault, kind = 'export', at = request.number }) =>
        kind === request.kind && at === request.number && serves(fault),
    )
    return rule && this.chosen(rule.fault, rule.param, this.draw(request, rule.fault))
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
    const purpose = PURPOSE.fault + (kind === 'export' ? 0 : 1_000) + FAULT_NAMES.indexOf(name)
    return new Draw(this.settings.seed ?? 1, number, purpose)
  }

  private chosen(name: FaultName, param: number | undefined, draw: Draw): ChosenFault {
    return { name, param: param ?? FAULTS[name].param?.default ?? 0, word: draw.word() }
  }
}

function fitsRequest(name: FaultName, { kind, params }: FaultRequest): boolean {
  const { search, needs } = FAULTS[name]
  if (kind !== 'export') return search === true
  const paging = !params.has('convoIds')
  if (needs === 'paging') return paging
  return needs !== 'cursor' || (paging && Boolean(params.get('cursor')))
}
