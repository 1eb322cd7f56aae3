// Settings of webhooks from options or the control endpoints, and the faults of events.

import { z } from 'zod'
import { DAY, MINUTE } from '../../core/time.ts'
import { issueTexts, type Param, paramOf, type Rate, ratesSchema, shareOf } from '../rates.ts'
import { Draw, PURPOSE } from '../world/random.ts'

export const DEFAULT_WEBHOOK_SECRET = 'sandbox-webhook-secret'

interface EventFaultDefinition {
  /** One line for `--help` and the docs. */
  help: string
  param?: Param
}

const TABLE = {
  dropped: { help: 'never sent' },
  delayed: {
    help: 'sent late by PARAM (5m, by the sandbox’s clock), after events that were created later',
    param: { unit: 'ms', default: 5 * MINUTE, min: 1, max: 366 * DAY },
  },
  duplicated: {
    help: 'sent again immediately, PARAM times (1)',
    param: { unit: 'count', default: 1, min: 1, max: 100 },
  },
} as const satisfies Record<string, EventFaultDefinition>

type EventFaultName = keyof typeof TABLE

export const EVENT_FAULTS: Record<EventFaultName, EventFaultDefinition> = TABLE

const EVENT_FAULT_NAMES = Object.keys(TABLE) as EventFaultName[]

interface EventFaultSettings {
  /** Determines which events are hit. Default: 1. */
  seed?: number | undefined
  /** A probability for each event. */
  rates?: Partial<Record<EventFaultName, Rate>> | undefined
}

/** Changes of settings. Omitted settings stay unchanged. */
export interface WebhookSettings {
  /** Address of events. Null stops them: events created until the next address are never sent. */
  url?: string | null | undefined
  /** Sent as `workspaceSecret` in every event. */
  secret?: string | undefined
  /** Replaces all event faults; `{}` turns them off. */
  faults?: EventFaultSettings | undefined
  /** Sends a `webhook_test` now. */
  test?: true | undefined
}

const Settings = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'give an address such as http://127.0.0.1:8080/' })
    .nullable()
    .optional(),
  secret: z.string().min(1).optional(),
  faults: z
    .strictObject({
      seed: z.number().int().optional(),
      rates: ratesSchema(EVENT_FAULTS, 'event fault').optional(),
    })
    .optional(),
  test: z.literal(true).optional(),
})

/** Returns the validation issues of settings; empty if they are valid. */
export function webhookIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}

// Chooses the faults of each event: a draw from seed, event number and fault, so that changing one rate does not change
// which events another fault hits.

/** The parameters of the chosen faults, by name. */
export type EventFaultPlan = Partial<Record<EventFaultName, number>>

export class EventFaults {
  readonly settings: EventFaultSettings
  private count = 0
  private served: Partial<Record<EventFaultName, number>> = {}

  /** Creates the chooser. The settings must be valid; `webhook-settings.ts` checks them. */
  constructor(settings: EventFaultSettings = {}) {
    this.settings = settings
  }

  /** Counts events since the faults were set, and the applications of each fault; faults never applied are omitted. */
  report() {
    return { events: this.count, served: { ...this.served } }
  }

  /** Counts the event and chooses its faults. A dropped event is neither delayed nor repeated. */
  next(): EventFaultPlan {
    const number = ++this.count
    const plan: EventFaultPlan = {}
    for (const [place, name] of EVENT_FAULT_NAMES.entries()) {
      const rate = this.settings.rates?.[name] ?? 0
      const draw = new Draw(this.settings.seed ?? 1, number, PURPOSE.eventFault + place)
      if (plan.dropped !== undefined || !draw.chance(shareOf(rate))) continue
      plan[name] = paramOf(rate) ?? EVENT_FAULTS[name].param?.default ?? 0
      this.served[name] = (this.served[name] ?? 0) + 1
    }
    return plan
  }
}
