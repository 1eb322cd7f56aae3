// Settings that are durations.
import { z } from 'zod'
import { parseDuration } from '../core/time.ts'

const DURATION = 'must be a duration such as 90s, 15m, 2h or 1d'

/** A text such as `15m`, as ms. */
export const duration = z
  .string({ error: DURATION })
  .refine(text => parseDuration(text) !== undefined, DURATION)
  .transform(text => parseDuration(text)!)
