// Encodes ids as names of files and folders.
import { createHash } from 'node:crypto'

const MAX_NAME = 120

const percentEncoded = (text: string, others: RegExp): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    others,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** Encodes a value as readers of Hive's layout decode it, which take `null` for NULL. It may be too long for a file name. */
export const hiveSegment = (value: string): string => percentEncoded(value, /[*'()!]|^n(?=ull$)/gi)

/** Encodes an ID as one path segment. This is reversible, unless the ID is too long for a file name and is truncated and hashed. */
export function pathSegment(id: string): string {
  const safe = percentEncoded(id, /[*'()!~]/g).replace(/^\.+/, dots => '%2E'.repeat(dots.length))
  if (safe !== '' && safe.length <= MAX_NAME) return safe
  return `${safe.slice(0, 80)}~${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}

/** Like `pathSegment`, but appends a hash to IDs that contain capitals, since some file systems do not distinguish `A` from `a`. */
export function caselessPathSegment(id: string): string {
  const name = pathSegment(id)
  if (id === id.toLowerCase() || name.includes('~')) return name
  return `${name}~${createHash('sha256').update(id).digest('hex').slice(0, 8)}`
}
