// Every fault that the sandbox can serve in place of, or in, a good answer; declared here and nowhere else.
//
// A request passes the stages in this order, and each stage serves at most one fault of it:
//
//   account ──▶ front ──▶ (the hour, the agent, the query) ──▶ refusal ──▶ page ──▶ (billed) ──▶ told ──▶ around ──▶ lost ──▶ pace, date
//
// Before "billed" a fault costs the caller nothing; behind it the sessions are paid for, whatever becomes of the answer.

import { z } from 'zod'
import { DAY, HOUR, SECOND } from '../../core/time.ts'
import type { ConditionSettings } from '../limits/condition-settings.ts'
import { issueTexts, nameIssue, type Param, paramIssue, type Rate, ratesSchema } from '../rates.ts'

/**
 * `account`: something else happens to the workspace's counters. `front`: the request never reaches the export.
 * `refusal`: the export fails. `page`: what is on the page. `told`: what is told of hour and usage. `around`: what stands
 * around the records. `lost`: the answer is spoilt on its way. `pace`: when it goes out. `date`: what time it tells.
 */
export type Stage = 'account' | 'front' | 'refusal' | 'page' | 'told' | 'around' | 'lost' | 'pace' | 'date'

interface FaultDefinition {
  stage: Stage
  /** One line, for `--help` and the docs. */
  help: string
  /** Served to agent searches, and to requests for organizations, as well. */
  search?: true
  /** Served only to a request in paginated mode, or only to one that carries a cursor. */
  needs?: 'paging' | 'cursor'
  param?: Param
}

const ms = (value: number, min = 0, max = 10 * 60 * SECOND): Param => ({ unit: 'ms', default: value, min, max })
const count = (value: number, min: number, max: number): Param => ({ unit: 'count', default: value, min, max })

const TABLE = {
  'others-requests': {
    stage: 'account',
    help: 'another user of the token takes PARAM requests (100) of the hour; remainingHour tells it',
    param: count(100, 1, 1_000_000),
  },
  'hour-forgotten': {
    stage: 'account',
    help: 'the process that counts the hour begins anew; remainingHour springs up',
  },
  '429': { stage: 'front', help: '429 without Retry-After, for a reason that no counter tells' },
  '429-retry-after': {
    stage: 'front',
    help: '429 with Retry-After: PARAM (30s)',
    param: ms(30 * SECOND, SECOND, DAY),
  },
  '503': { stage: 'front', search: true, help: '503, before anything was done' },
  'dropped-before': { stage: 'front', search: true, help: 'the connection is closed, nothing was done or billed' },
  '500': { stage: 'refusal', search: true, help: '500; counts in the hour, bills nothing' },
  'expired-cursor': { stage: 'refusal', needs: 'cursor', help: '400: the cursor is not known any more' },
  'empty-page': {
    stage: 'page',
    needs: 'paging',
    help: 'no conversations, hasMore true, and a cursor that goes on from the same place; bills nothing',
  },
  'repeated-cursor': { stage: 'page', needs: 'cursor', help: 'hasMore true, and nextCursor is the cursor just used' },
  'missing-cursor': { stage: 'page', needs: 'paging', help: 'hasMore true, and no nextCursor' },
  shuffled: { stage: 'page', help: 'the records of the page in another order' },
  'hour-told-high': { stage: 'told', help: 'remainingHour tells a whole hour, in this answer only' },
  'usage-told-low': { stage: 'told', help: 'usage tells only this request, in this answer only' },
  'old-period-told': {
    stage: 'told',
    help: 'usage tells the last period before this one that was billed in, if any; in this answer only',
  },
  'unseen-period-told': {
    stage: 'told',
    help: 'usage tells a period that never was, and that all of it is used; in this answer only',
  },
  'cut-body': { stage: 'lost', search: true, help: 'billed; the connection is closed in the middle of the body' },
  'cut-json': { stage: 'lost', search: true, help: 'billed; a whole answer whose JSON ends in the middle' },
  html: { stage: 'lost', search: true, help: "billed; 200 with a proxy's HTML page in place of the JSON" },
  'dropped-after': { stage: 'lost', search: true, help: 'billed; the connection is closed without an answer' },
  slow: {
    stage: 'pace',
    search: true,
    help: 'the answer goes out PARAM (5s, real time) late',
    param: ms(5 * SECOND),
  },
  overtaking: {
    stage: 'pace',
    search: true,
    help: 'the answer waits until that of a later request has gone out, at most PARAM (1s, real time)',
    param: ms(SECOND),
  },
  'clock-off': {
    stage: 'date',
    search: true,
    help: "the Date header is PARAM (1h; -5m: behind) off the sandbox's clock",
    param: ms(HOUR, -3_660 * DAY, 3_660 * DAY),
  },
  'deep-envelope': {
    stage: 'around',
    search: true,
    help: 'a field that no document lists beside the records, its objects nested PARAM (100000) deep',
    param: count(100_000, 1, 1_000_000),
  },
} as const satisfies Record<string, FaultDefinition>

export type FaultName = keyof typeof TABLE

export const FAULTS: Record<FaultName, FaultDefinition> = TABLE

export const FAULT_NAMES = Object.keys(TABLE) as FaultName[]

const isFaultName = (name: string): name is FaultName => Object.hasOwn(TABLE, name)

// Which faults are to be served: by rate, by script, or both; checked in one place for flags, options and the control door.

/** `organization`: requests for organizations and their teams. */
export type FaultKind = 'export' | 'search' | 'organization' | 'tools'

/**
 * Serves a fault to each request that fits all that is told here, or changes conditions before it. Each kind of request is
 * counted by itself.
 */
export interface ScriptRule extends ScriptBounds {
  fault?: FaultName | undefined
  param?: number | undefined
  set?: ConditionSettings | undefined
  agentId?: string | undefined
  /** Default: export. */
  kind?: FaultKind | undefined
}

export interface FaultSettings {
  /** Another seed, other requests hit; the same one hits the same numbers. Default: 1. */
  seed?: number | undefined
  /** A probability for each request. */
  rates?: Partial<Record<FaultName, Rate>> | undefined
  script?: ScriptRule[] | undefined
  /** Faults by rate are served to agent searches, and to requests for organizations and tools, too. Default: false. */
  search?: boolean | undefined
}

const RequestNumber = z.number().int().min(1)

const FaultText = z
  .union([z.string(), z.number().transform(String)], { error: 'names no fault' })
  .transform((name, context) => {
    if (isFaultName(name)) return name
    context.addIssue(nameIssue(FAULTS, 'fault', name)!)
    return z.NEVER
  })

const Rule = z
  .strictObject({
    fault: FaultText.optional(),
    set: z.record(z.string(), z.unknown()).optional(),
    param: z.number().optional(),
    at: RequestNumber.optional(),
    from: RequestNumber.optional(),
    to: RequestNumber.optional(),
    every: RequestNumber.optional(),
    times: RequestNumber.optional(),
    agentId: z.string().min(1).optional(),
    kind: z.enum(['export', 'search', 'organization', 'tools']).optional(),
  })
  .check(({ value, issues }) => {
    const message = ruleIssue(value)
    if (message !== undefined) issues.push({ code: 'custom', input: value, message })
  })

const REQUESTS: Record<FaultKind, string> = {
  export: 'exports',
  search: 'agent searches',
  organization: 'requests for organizations',
  tools: 'requests for tools',
}

function ruleIssue({ fault, set, param, kind }: ScriptRule): string | undefined {
  if ((fault === undefined) === (set === undefined)) return 'a rule has a fault or conditions to set'
  if (fault === undefined) return param === undefined ? undefined : 'conditions take no parameter'
  if (kind && kind !== 'export' && !FAULTS[fault].search) return `${fault} is not served to ${REQUESTS[kind]}`
  return paramIssue(FAULTS, fault, param)
}

const Settings = z.strictObject({
  seed: z.number().int().optional(),
  rates: ratesSchema(FAULTS, 'fault').optional(),
  script: z.array(Rule).optional(),
  search: z.boolean().optional(),
})

type ReadSettings = { settings: FaultSettings } | { issues: string[] }

/** `conditionIssues` checks what a script sets. */
export function readFaultSettings(given: unknown, conditionIssues: (set: unknown) => string[]): ReadSettings {
  const read = Settings.safeParse(given)
  if (!read.success) return { issues: issueTexts(read.error) }
  const { data } = read
  const issues = (data.script ?? []).flatMap(({ set }) => (set === undefined ? [] : conditionIssues(set)))
  return issues.length > 0 ? { issues } : { settings: data as FaultSettings }
}

// A script of faults: which of its rules a request, or an event, meets, and how often each has been met.

/** By the number of what meets the rule, counted from 1 since the faults were set. */
export interface ScriptBounds {
  at?: number | undefined
  /** First and last such number, both inclusive. */
  from?: number | undefined
  to?: number | undefined
  /** Each whose number this divides. */
  every?: number | undefined
  /** At most so many times. */
  times?: number | undefined
}

export class Script<R extends ScriptBounds> {
  private readonly rules: readonly R[]
  private readonly met: number[]

  constructor(rules: readonly R[]) {
    this.rules = rules
    this.met = rules.map(() => 0)
  }

  /** The rules that fit the number, of those that are of use; each that is drawn from it counts as met. */
  *meet(number: number, useful: (rule: R) => boolean): Generator<R> {
    for (const [place, rule] of this.rules.entries()) {
      const { times = Number.POSITIVE_INFINITY } = rule
      if (this.met[place]! >= times || !useful(rule) || !fits(rule, number)) continue
      this.met[place]! += 1
      yield rule
    }
  }
}

function fits({ at, from = 1, to = Number.POSITIVE_INFINITY, every }: ScriptBounds, number: number): boolean {
  if (at !== undefined && at !== number) return false
  if (every !== undefined && number % every !== 0) return false
  return number >= from && number <= to
}
