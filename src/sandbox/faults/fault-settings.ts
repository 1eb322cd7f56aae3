// Which faults are to be served: by rate, by script, or both; checked in one place for flags, options and the control door.
import { z } from 'zod'
import type { ConditionSettings } from '../condition-settings.ts'
import type { Rate } from '../rate.ts'
import { nameIssue, paramIssue } from '../rate.ts'
import { ratesSchema } from '../rate-settings.ts'
import { issueTexts } from '../setting-issues.ts'
import type { FaultName } from './fault-table.ts'
import { FAULTS, isFaultName } from './fault-table.ts'
import type { ScriptBounds } from './script.ts'

/** `organization`: requests for organizations and their teams. */
export type FaultKind = 'export' | 'search' | 'organization'

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
  /** Faults by rate are served to agent searches, and to requests for organizations, too. Default: false. */
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
    kind: z.enum(['export', 'search', 'organization']).optional(),
  })
  .check(({ value, issues }) => {
    const message = ruleIssue(value)
    if (message !== undefined) issues.push({ code: 'custom', input: value, message })
  })

function ruleIssue({ fault, set, param, kind }: ScriptRule): string | undefined {
  if ((fault === undefined) === (set === undefined)) return 'a rule has a fault or conditions to set'
  if (fault === undefined) return param === undefined ? undefined : 'conditions take no parameter'
  if (kind && kind !== 'export' && !FAULTS[fault].search)
    return `${fault} is not served to ${kind === 'search' ? 'agent searches' : 'requests for organizations'}`
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
