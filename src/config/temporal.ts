// Settings of Temporal workers and schedules. Temporal's own variables configure the server.
import { z } from 'zod'
import { HOUR } from '../core/time.ts'
import { duration } from './values.ts'

export const temporalSettings = z.strictObject({
  queues: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/i, 'must be a short name of letters, digits, dots and dashes')
    .default('convohouse'),
  lease: duration.prefault('2m'),
})

export const temporalConfig = ({ queues, lease }: z.infer<typeof temporalSettings>) => ({
  /** Prefix of the task queues' names. */
  queues,
  /** Lifetime of a lease. */
  leaseMs: lease,
})

/** The setting `schedule` of a workspace. */
export const schedule = z
  .strictObject({
    every: duration.optional(),
    cron: z
      .string()
      .regex(/^\s*\S+(\s+\S+){4}\s*$/, 'must be a cron expression of five fields such as 0 * * * * or 30 6 * * mon-fri')
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
