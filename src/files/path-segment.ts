// Ids as names of files and folders.
import { createHash } from 'node:crypto'

const MAX_NAME = 120

/** An id as one path segment: reversible for ordinary ids, cut and hashed where it would be too long for a file name. */
export function pathSegment(id: string): string {
  const safe = encodeURIComponent(id.toWellFormed())
    .replace(/[*'()!~]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/^\.+/, dots => '%2E'.repeat(dots.length))
  if (safe !== '' && safe.length <= MAX_NAME) return safe
  return `${safe.slice(0, 80)}~${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}

/** The same, for names that must differ by more than case: some file systems do not tell `A` from `a`. Plain where none is in capitals. */
export function caselessPathSegment(id: string): string {
  const name = pathSegment(id)
  if (id === id.toLowerCase() || name.includes('~')) return name
  return `${name}~${createHash('sha256').update(id).digest('hex').slice(0, 8)}`
}
