// Conditions as they are set: by options, by a script of faults, or through the control door.

import { z } from 'zod'
import { DAY } from '../../core/time.ts'
import { issueTexts } from '../rates.ts'

const LONGEST_MS = 366 * DAY

const Settings = z.strictObject({
  paid: z.boolean().optional(),
  mirrorLagMs: z.number().int().min(0).max(LONGEST_MS).optional(),
  clockOffsetMs: z
    .number()
    .int()
    .min(-10 * LONGEST_MS)
    .max(10 * LONGEST_MS)
    .optional(),
  gone: z.array(z.union([z.string(), z.number().int().min(1)])).optional(),
  turnPeriod: z.literal(true).optional(),
  forgetHour: z.literal(true).optional(),
  othersRequests: z.number().int().min(1).max(1_000_000).optional(),
})

/** What is not given stays as it is. */
export interface ConditionSettings {
  /** False: the export is refused with 403. */
  paid?: boolean | undefined
  /** Raised, it stands still until the lag is reached; lowered, it catches up at once. */
  mirrorLagMs?: number | undefined
  /** Added to the `Date` header of every answer. */
  clockOffsetMs?: number | undefined
  /** Agents that are not listed and whose export is a 404: ids, or numbers counted from 1. All others are there. */
  gone?: (string | number)[] | undefined
  /** A new billing period begins now. */
  turnPeriod?: true | undefined
  /** The process that counts the hour begins anew. */
  forgetHour?: true | undefined
  /** So many requests of the hour are taken by another user of the token. */
  othersRequests?: number | undefined
}

/** What is wrong with the shape of settings; empty where nothing is. */
export function shapeIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}
