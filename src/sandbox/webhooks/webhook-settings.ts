// Where events are sent, which, and what befalls them: as they are set by options or through the control door.
import { z } from 'zod'
import type { EventName } from '../../catalog/events.ts'
import { EVENT_NAMES } from '../events/event-types.ts'
import type { ScriptBounds } from '../faults/script.ts'
import type { Rate } from '../rate.ts'
import { nameIssue, paramIssue } from '../rate.ts'
import { ratesSchema } from '../rate-settings.ts'
import { issueTexts } from '../setting-issues.ts'
import type { EventFaultName } from './event-fault-table.ts'
import { EVENT_FAULTS } from './event-fault-table.ts'

/** A fault for each event that fits all that is told here; events are counted from 1 since the faults were set. */
export interface EventRule extends ScriptBounds {
  fault: EventFaultName
  param?: number | undefined
  type?: EventName | undefined
  agentId?: string | undefined
  convoId?: string | undefined
}

export interface EventFaultSettings {
  /** Another seed, other events hit. Default: 1. */
  seed?: number | undefined
  /** A probability for each event. */
  rates?: Partial<Record<EventFaultName, Rate>> | undefined
  /** Goes before the rates. */
  script?: EventRule[] | undefined
}

/** What is not given stays as it is. */
export interface WebhookSettings {
  /** Null: nothing is sent, and what happens meanwhile never will be. */
  url?: string | null | undefined
  /** `workspaceSecret` of every event. */
  secret?: string | undefined
  /** Types that are subscribed to; all others are not sent. Null: all are. */
  types?: EventName[] | null | undefined
  /** Events under way at a time. */
  concurrency?: number | undefined
  /** Real milliseconds until an answer is given up. */
  timeoutMs?: number | undefined
  /** Replaces all faults of events; `{}` turns them off. */
  faults?: EventFaultSettings | undefined
  /** A `webhook_test` is sent now. */
  test?: true | undefined
}

const Count = z.number().int().min(1)

const Rule = z
  .strictObject({
    fault: z.string(),
    param: z.number().optional(),
    type: z.enum(EVENT_NAMES).optional(),
    agentId: z.string().min(1).optional(),
    convoId: z.string().min(1).optional(),
    at: Count.optional(),
    from: Count.optional(),
    to: Count.optional(),
    every: Count.optional(),
    times: Count.optional(),
  })
  .check(({ value: { fault, param }, issues }) => {
    const message = nameIssue(EVENT_FAULTS, 'fault of events', fault) ?? paramIssue(EVENT_FAULTS, fault, param)
    if (message !== undefined) issues.push({ code: 'custom', input: fault, message })
  })

const Settings = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'give an address such as http://127.0.0.1:8080/' })
    .nullable()
    .optional(),
  secret: z.string().min(1).optional(),
  types: z.array(z.enum(EVENT_NAMES)).nullable().optional(),
  concurrency: z.number().int().min(1).max(1_000).optional(),
  timeoutMs: z.number().int().min(1).max(3_600_000).optional(),
  faults: z
    .strictObject({
      seed: z.number().int().optional(),
      rates: ratesSchema(EVENT_FAULTS, 'fault of events').optional(),
      script: z.array(Rule).optional(),
    })
    .optional(),
  test: z.literal(true).optional(),
})

/** What keeps settings from being used; empty where nothing does. */
export function webhookIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}
