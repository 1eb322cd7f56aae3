// Every fault that can befall an event on its way to the configured address; declared here and nowhere else. At most one of
// each stage, in this order: what it is, when it goes out, how often.
import { DAY, MINUTE } from '../../core/time.ts'
import type { Param } from '../rate.ts'

export type EventStage = 'content' | 'pace' | 'copies'

export interface EventFaultDefinition {
  stage: EventStage
  /** One line, for `--help` and the docs. */
  help: string
  param?: Param
}

const MEBIBYTE = 2 ** 20

const TABLE = {
  dropped: { stage: 'content', help: 'never sent' },
  'wrong-secret': { stage: 'content', help: 'sent with a secret that is not the workspace’s' },
  oversized: {
    stage: 'content',
    help: 'sent with a field `padding` that makes it PARAM bytes (20 MiB) long',
    param: { unit: 'bytes', default: 20 * MEBIBYTE, min: 1_000, max: 256 * MEBIBYTE },
  },
  delayed: {
    stage: 'pace',
    help: 'sent PARAM (5m, of the sandbox’s clock) late',
    param: { unit: 'ms', default: 5 * MINUTE, min: 1, max: 366 * DAY },
  },
  reordered: {
    stage: 'pace',
    help: 'sent behind PARAM (3) events that came later, or a minute (of the sandbox’s clock) late',
    param: { unit: 'count', default: 3, min: 1, max: 10_000 },
  },
  duplicated: {
    stage: 'copies',
    help: 'sent again at once, PARAM times (1)',
    param: { unit: 'count', default: 1, min: 1, max: 100 },
  },
} as const satisfies Record<string, EventFaultDefinition>

export type EventFaultName = keyof typeof TABLE

export const EVENT_FAULTS: Record<EventFaultName, EventFaultDefinition> = TABLE

export const EVENT_FAULT_NAMES = Object.keys(TABLE) as EventFaultName[]
