// The setting `schedule` of a workspace.
import { z } from 'zod'
import { HOUR } from '../core/time.ts'
import { duration } from './duration.ts'

export const schedule = z
  .strictObject({
    every: duration.optional(),
    cron: z
      .string()
      .regex(/^\S+(\s+\S+){4}$/, 'must be five fields such as 0 * * * *')
      .optional(),
    jitter: duration.prefault('30s'),
  })
  .refine(({ every, cron }) => (every === undefined) !== (cron === undefined), 'must have either every or cron')
  .refine(({ every = HOUR }) => every >= 10_000, 'must not be more often than every 10s')

/** An interval or a cron expression; each run is delayed by up to `jitterMs`. */
export type Schedule = ({ everyMs: number } | { cron: string }) & { jitterMs: number }

export function scheduleConfig({ every, cron, jitter }: z.infer<typeof schedule>): Schedule {
  return every === undefined ? { cron: cron!, jitterMs: jitter } : { everyMs: every, jitterMs: jitter }
}
