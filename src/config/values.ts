// Settings that are sizes, durations, times or time zones.
import { z } from 'zod'
import { parseDuration, parseMoment } from '../core/time.ts'

export const size = z.string().regex(/^\d+(\.\d+)?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/i, 'must be a size such as 1GB')

const DURATION = 'must be a duration such as 90s, 15m, 2h or 1d'

/** A text such as `15m`, as ms. */
export const duration = z
  .string({ error: DURATION })
  .refine(text => parseDuration(text) !== undefined, DURATION)
  .transform(text => parseDuration(text)!)

export const moment = z
  .union([z.string(), z.date().transform(date => date.toISOString())])
  .refine(
    text => parseMoment(text, Date.now()) !== undefined,
    'must be a date such as 2026-01-31, a time, or an age such as 90d',
  )
  .refine(text => (parseMoment(text, Date.now()) ?? 0) <= Date.now(), 'must not lie in the future')

export const timeZone = z.string().refine(name => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}, 'must be an IANA time zone such as Europe/Berlin')
