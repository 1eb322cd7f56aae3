// Settings of the conditions: from options, a fault script, or the control endpoints.

import { z } from 'zod'
import { DAY } from '../../core/time.ts'
import { issueTexts } from '../rates.ts'
import { PROVIDERS } from '../world/voices.ts'

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
  failedProviders: z.array(z.enum(PROVIDERS)).optional(),
  turnPeriod: z.literal(true).optional(),
  forgetHour: z.literal(true).optional(),
  othersRequests: z.number().int().min(1).max(1_000_000).optional(),
})

/** Absent settings stay unchanged. */
export interface ConditionSettings {
  /** False: the export is refused with 403. */
  paid?: boolean | undefined
  /** If the lag is raised, the mirror's time stands still until the lag is reached; if lowered, the mirror catches up at once. */
  mirrorLagMs?: number | undefined
  /** Added to the `Date` header of every answer. */
  clockOffsetMs?: number | undefined
  /** Deleted agents, by ID or number from 1: not listed, and their export is a 404. All others exist. */
  gone?: (string | number)[] | undefined
  /** Voice providers that fail, by name; all others answer. */
  failedProviders?: string[] | undefined
  /** Starts a new billing period now. */
  turnPeriod?: true | undefined
  /** Resets the hourly request count, as a restart of the vendor's process does. */
  forgetHour?: true | undefined
  /** Counts this many requests now, as if another user of the token had sent them. */
  othersRequests?: number | undefined
}

/** Validation issues of settings; empty if they are valid. */
export function shapeIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}
