// Settings that are times or time zones.
import { z } from 'zod'
import { parseMoment } from '../core/time.ts'

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
