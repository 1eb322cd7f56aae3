// Settings of Temporal workers. Temporal's own variables configure the server.
import { z } from 'zod'
import { duration } from './duration.ts'

export const temporalSettings = z.strictObject({
  queues: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/i, 'must be a short name of letters, digits, dots and dashes')
    .default('convohouse'),
  lease: duration.prefault('2m'),
})

export interface TemporalSettings {
  /** Prefix of the task queues' names. */
  queues: string
  /** Lifetime of a lease. */
  leaseMs: number
}

export const temporalConfig = ({ queues, lease }: z.infer<typeof temporalSettings>): TemporalSettings => ({
  queues,
  leaseMs: lease,
})
