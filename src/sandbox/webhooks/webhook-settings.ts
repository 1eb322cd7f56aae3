// Faults of webhook events, at most one per stage (content, timing, count), and the settings of webhooks from options or the
// control endpoints.

import { z } from 'zod'
import { DAY, MINUTE } from '../../core/time.ts'
import type { EventName } from '../events/event-types.ts'
import { EVENT_NAMES } from '../events/event-types.ts'
import type { ScriptBounds } from '../faults/fault-settings.ts'
import { issueTexts, nameIssue, type Param, paramIssue, type Rate, ratesSchema } from '../rates.ts'

export type EventStage = 'content' | 'pace' | 'copies'

interface EventFaultDefinition {
  stage: EventStage
  /** One line for `--help` and the docs. */
  help: string
  param?: Param
}

const MEBIBYTE = 2 ** 20

const TABLE = {
  dropped: { stage: 'content', help: 'never sent' },
  'wrong-secret': { stage: 'content', help: 'sent with a wrong secret' },
  oversized: {
    stage: 'content',
    help: 'padded to PARAM bytes (20 MiB) by a field `padding`',
    param: { unit: 'bytes', default: 20 * MEBIBYTE, min: 1_000, max: 256 * MEBIBYTE },
  },
  delayed: {
    stage: 'pace',
    help: 'sent late by PARAM (5m, by the sandbox’s clock)',
    param: { unit: 'ms', default: 5 * MINUTE, min: 1, max: 366 * DAY },
  },
  reordered: {
    stage: 'pace',
    help: 'sent after PARAM (3) later events, or after a minute by the sandbox’s clock',
    param: { unit: 'count', default: 3, min: 1, max: 10_000 },
  },
  duplicated: {
    stage: 'copies',
    help: 'sent again immediately, PARAM times (1)',
    param: { unit: 'count', default: 1, min: 1, max: 100 },
  },
} as const satisfies Record<string, EventFaultDefinition>

export type EventFaultName = keyof typeof TABLE

export const EVENT_FAULTS: Record<EventFaultName, EventFaultDefinition> = TABLE

export const EVENT_FAULT_NAMES = Object.keys(TABLE) as EventFaultName[]

/** Applies a fault to each event that matches all given fields; events count from 1 since the faults were set. */
export interface EventRule extends ScriptBounds {
  fault: EventFaultName
  param?: number | undefined
  type?: EventName | undefined
  agentId?: string | undefined
  convoId?: string | undefined
}

export interface EventFaultSettings {
  /** Decides which events are hit. Default: 1. */
  seed?: number | undefined
  /** A probability for each event. */
  rates?: Partial<Record<EventFaultName, Rate>> | undefined
  /** Takes precedence over the rates. */
  script?: EventRule[] | undefined
}

/** Absent settings stay unchanged. */
export interface WebhookSettings {
  /** Null: nothing is sent; events that are created meanwhile are not sent later either. */
  url?: string | null | undefined
  /** Sent as `workspaceSecret` in every event. */
  secret?: string | undefined
  /** Subscribed types; others are not sent. Null: all types. */
  types?: EventName[] | null | undefined
  /** Maximum number of requests in flight. */
  concurrency?: number | undefined
  /** Real milliseconds to wait for an answer. */
  timeoutMs?: number | undefined
  /** Replaces all event faults; `{}` turns them off. */
  faults?: EventFaultSettings | undefined
  /** Sends a `webhook_test` now. */
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

/** Validation issues of settings; empty if they are valid. */
export function webhookIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}
