// Settings that are sizes, durations, times, time zones, or paths.
import { resolve } from 'node:path'
import { z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'
import { parseDuration, parseMoment } from '../core/time.ts'
import { sizeOf } from '../core/words.ts'
import { parseAddress } from './address.ts'

/** A memory limit of DuckDB, which opens no warehouse with less than 128 MB, and reads no larger numbers. */
export const size = z
  .string()
  .regex(/^\d+(\.\d+)?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/i, { error: 'must be a size such as 1GB', abort: true })
  .refine(text => sizeOf(text) >= 128e6 && sizeOf(text) <= 2 ** 60, 'must be from 128MB to 1000000TB')

/** Control characters, line separators, byte order marks and halves of surrogate pairs. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\ufeff]/u

/** True for text with a line break or another invisible character that no setting contains. */
export const hasControl = (text: string): boolean => CONTROL.test(text)

export const CONTROL_INSIDE = 'contains a line break or another control character'

/** True for a path that only a shell completes or unquotes: `~/data`, `/srv/$USER/data`, `%USERPROFILE%\\data`, `"/data"`. */
export const isForShell = (path: string): boolean =>
  /^~|[\\/]~(?:[\\/]|$)|\$(?:\w|\{)|%[A-Za-z_()]\w*%|^["']|["']$/.test(path)

export const FOR_SHELL = 'contains ~, $NAME, %NAME% or quotes, which only a shell replaces: write the whole path'

export const filePath = z
  .string()
  .min(1)
  .refine(path => !isForShell(path), FOR_SHELL)

export const address = z
  .string()
  .refine(text => parseAddress(text) !== undefined, 'must be a host and a port such as 127.0.0.1:9464')
  .transform(text => parseAddress(text)!)

const DURATION = 'must be a duration such as 90s, 15m, 2h or 1d'

/** Parses a text such as `15m` to ms. */
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

/** DuckDB knows no offsets such as +05:30, which Node accepts from version 22 on. It checks the name itself when it opens. */
export const timeZone = z.string().refine(name => {
  try {
    if (!/^[A-Za-z]/.test(name)) return false
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}, 'must be an IANA time zone such as Europe/Berlin')

const DEFAULT_HOME = 'convohouse-data'

/**
 * Refuses paths with a question mark: DuckDB treats the rest as an address's parameters, and looks for the file's log elsewhere.
 * @returns `path` @throws CONFIG_INVALID; `subject` names the path's owner, for people
 */
export function databasePath(path: string, subject: string): string {
  if (!path.includes('?')) return path
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `${subject} is ${path}, and DuckDB cannot use a path with a question mark.`,
    hint: 'Choose a path without one.',
  })
}

/** Resolves the data folder; a relative path is relative to `folder`. @throws CONFIG_INVALID for a path that DuckDB cannot use */
export const dataFolder = (folder: string, given: string | undefined): string =>
  databasePath(resolve(folder, given || DEFAULT_HOME), 'The data folder')
