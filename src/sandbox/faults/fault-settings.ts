// Every fault that the sandbox can serve, and the settings that choose them: rates, scripts, or both.
//
// A request passes the stages in this order; each serves at most one fault:
//
//   account ──▶ front ──▶ (rate limit, agent, query) ──▶ refusal ──▶ page ──▶ (billed) ──▶ reported ──▶ around ──▶ lost ──▶ pace, date
//
// A fault before "billed" costs the caller nothing. After it, sessions are billed even if the answer is lost.

import { z } from 'zod'
import { DAY, HOUR, SECOND } from '../../core/time.ts'
import type { ConditionSettings } from '../limits/condition-settings.ts'
import { issueTexts, nameIssue, type Param, paramIssue, type Rate, ratesSchema } from '../rates.ts'

/**
 * `account`: changes the workspace's counters. `front`: the request never reaches the export. `refusal`: the export fails.
 * `page`: the page's content. `reported`: reported rate limit and usage. `around`: fields around the records. `lost`: the
 * answer is lost on the way. `pace`: when the answer is sent. `date`: the answer's `Date` header.
 */
export type Stage = 'account' | 'front' | 'refusal' | 'page' | 'reported' | 'around' | 'lost' | 'pace' | 'date'

interface FaultDefinition {
  stage: Stage
  /** One line for `--help` and the docs. */
  help: string
  /** Also served to requests of the other kinds. */
  search?: true
  /** Served only to requests in paginated mode, or only to those with a cursor. */
  needs?: 'paging' | 'cursor'
  param?: Param
}

const ms = (value: number, min = 0, max = 10 * 60 * SECOND): Param => ({ unit: 'ms', default: value, min, max })
const count = (value: number, min: number, max: number): Param => ({ unit: 'count', default: value, min, max })

const TABLE = {
  'others-requests': {
    stage: 'account',
    help: 'another user of the token makes PARAM requests (100) in this hour; remainingHour shows it',
    param: count(100, 1, 1_000_000),
  },
  'hour-forgotten': {
    stage: 'account',
    help: 'the hourly count restarts; remainingHour jumps up',
  },
  '429': { stage: 'front', help: '429 without Retry-After, although the hourly limit is not reached' },
  '429-retry-after': {
    stage: 'front',
    help: '429 with Retry-After: PARAM (30s)',
    param: ms(30 * SECOND, SECOND, DAY),
  },
  '503': { stage: 'front', search: true, help: '503 before any work is done' },
  'dropped-before': { stage: 'front', search: true, help: 'the connection closes before any work is done or billed' },
  '500': { stage: 'refusal', search: true, help: '500; counts against the hourly limit, bills nothing' },
  'expired-cursor': { stage: 'refusal', needs: 'cursor', help: '400: the cursor has expired' },
  'empty-page': {
    stage: 'page',
    needs: 'paging',
    help: 'no conversations, hasMore true, and a cursor for the same position; bills nothing',
  },
  'repeated-cursor': { stage: 'page', needs: 'cursor', help: 'hasMore true, and nextCursor is the cursor just used' },
  'missing-cursor': { stage: 'page', needs: 'paging', help: 'hasMore true, and no nextCursor' },
  shuffled: { stage: 'page', help: 'the records of the page in random order' },
  'hour-reported-high': { stage: 'reported', help: 'remainingHour reports the full limit, in this answer only' },
  'usage-reported-low': { stage: 'reported', help: 'usage reports only this request, in this answer only' },
  'old-period-reported': {
    stage: 'reported',
    help: 'usage reports the last earlier period with billed sessions, if any; in this answer only',
  },
  'unseen-period-reported': {
    stage: 'reported',
    help: 'usage reports a period that never existed, with no sessions left; in this answer only',
  },
  'cut-body': { stage: 'lost', search: true, help: 'billed; the connection closes in the middle of the body' },
  'cut-json': { stage: 'lost', search: true, help: 'billed; a complete HTTP answer whose JSON is cut in half' },
  html: { stage: 'lost', search: true, help: "billed; 200 with a proxy's HTML page instead of the JSON" },
  'dropped-after': { stage: 'lost', search: true, help: 'billed; the connection closes without an answer' },
  slow: {
    stage: 'pace',
    search: true,
    help: 'the answer is delayed by PARAM (5s, real time)',
    param: ms(5 * SECOND),
  },
  overtaking: {
    stage: 'pace',
    search: true,
    help: 'the answer waits for that of a later request, at most PARAM (1s, real time)',
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
    help: 'an undocumented field beside the records, with objects nested PARAM (100000) deep',
    param: count(100_000, 1, 1_000_000),
  },
} as const satisfies Record<string, FaultDefinition>

export type FaultName = keyof typeof TABLE

export const FAULTS: Record<FaultName, FaultDefinition> = TABLE

export const FAULT_NAMES = Object.keys(TABLE) as FaultName[]

const isFaultName = (name: string): name is FaultName => Object.hasOwn(TABLE, name)

/** `organization`: requests for organizations and their teams. */
export const FAULT_KINDS = [
  'export',
  'search',
  'organization',
  'tools',
  'variables',
  'audit',
  'metric',
  'voices',
  'workspace',
  'crawler',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]

/**
 * Serves a fault to each request that matches all given fields, or changes conditions before such a request is answered. The requests of
 * each kind are numbered separately.
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
  /** Decides which request numbers are hit. Default: 1. */
  seed?: number | undefined
  /** A probability for each request. */
  rates?: Partial<Record<FaultName, Rate>> | undefined
  script?: ScriptRule[] | undefined
  /** Rates also apply to requests of the other kinds. Default: false. */
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
    kind: z.enum(FAULT_KINDS).optional(),
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
  variables: 'requests for variables',
  audit: 'requests for audit logs',
  metric: 'requests for metrics',
  voices: 'requests for voices',
  workspace: 'requests for workspaces',
  crawler: 'requests for crawler jobs',
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

/** `conditionIssues` validates the conditions that a script sets. */
export function readFaultSettings(given: unknown, conditionIssues: (set: unknown) => string[]): ReadSettings {
  const read = Settings.safeParse(given)
  if (!read.success) return { issues: issueTexts(read.error) }
  const { data } = read
  const issues = (data.script ?? []).flatMap(({ set }) => (set === undefined ? [] : conditionIssues(set)))
  return issues.length > 0 ? { issues } : { settings: data as FaultSettings }
}

/** Selects requests or events by their number, which counts from 1 since the faults were set. */
export interface ScriptBounds {
  at?: number | undefined
  /** First and last number, both inclusive. */
  from?: number | undefined
  to?: number | undefined
  /** Every multiple of this number. */
  every?: number | undefined
  /** Maximum number of matches. */
  times?: number | undefined
}

export class Script<R extends ScriptBounds> {
  private readonly rules: readonly R[]
  private readonly matched: number[]

  constructor(rules: readonly R[]) {
    this.rules = rules
    this.matched = rules.map(() => 0)
  }

  /** Yields the rules that match the number and satisfy `useful`; each time a rule is yielded counts towards its `times`. */
  *match(number: number, useful: (rule: R) => boolean): Generator<R> {
    for (const [place, rule] of this.rules.entries()) {
      const { times = Number.POSITIVE_INFINITY } = rule
      if (this.matched[place]! >= times || !useful(rule) || !fits(rule, number)) continue
      this.matched[place]! += 1
      yield rule
    }
  }
}

function fits({ at, from = 1, to = Number.POSITIVE_INFINITY, every }: ScriptBounds, number: number): boolean {
  if (at !== undefined && at !== number) return false
  if (every !== undefined && number % every !== 0) return false
  return number >= from && number <= to
}
