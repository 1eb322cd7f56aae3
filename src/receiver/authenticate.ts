// Authentication: an event belongs to the workspace whose secret it contains. All secrets are compared in constant time, even after a match.
import { timingSafeEqual } from 'node:crypto'
import { EVENT_SECRET } from '../catalog/events/event-types.ts'
import { writtenForms } from '../client/redaction/redaction.ts'

export interface WorkspaceSecrets {
  id: string
  /** All valid secrets: several while a secret is being rotated. */
  secrets: readonly string[]
}

interface Authenticated extends WorkspaceSecrets {
  /** Byte patterns that reveal a secret in any encoding; null where a secret has characters that JSON escapes. */
  secretPatterns: readonly Buffer[] | null
}

/** Finds the workspace of a secret, which must be the `addressed` one if that is not null; null where the secret is not valid. */
export type Authenticator = (given: unknown, addressed: string | null) => Authenticated | null

/** Printable ASCII without characters that JSON uses or escapes: such a secret always appears unescaped, within one JSON string. */
const PLAIN = /^(?:(?!["\\{}[\],:])[!-~])+$/

const PATTERN_BYTES = 8

/**
 * The search pattern for one encoding of a secret. It starts at a rare character, if at least `PATTERN_BYTES` follow: `indexOf` stops at every
 * occurrence of the first byte, and lower-case letters are frequent in text. Starting at the first character took four times as long.
 */
function patternOf(encoded: string): Buffer {
  const rare = [/[^a-zA-Z0-9]/, /[^a-z]/].map(pattern => encoded.slice(0, 1 - PATTERN_BYTES).search(pattern))
  return Buffer.from(encoded.slice(rare.find(at => at >= 0) ?? 0))
}

/** Extra bytes beyond the longest secret, so that a longer text is not truncated to a secret's length. A character takes up to four bytes. */
const MARGIN_BYTES = 4

/** Writes a text into a buffer of fixed length and pads it with zeros. Returns the number of bytes written for the text. */
function writeOver(padded: Buffer, text: string): number {
  padded.fill(0)
  return padded.write(text)
}

export function makeAuthenticator(workspaces: readonly WorkspaceSecrets[]): Authenticator {
  const lengths = workspaces.flatMap(({ secrets }) => secrets.map(secret => Buffer.byteLength(secret)))
  const given = Buffer.alloc(Math.max(0, ...lengths) + MARGIN_BYTES)
  const keys = workspaces.flatMap(({ id, secrets }) => {
    const secretPatterns = secrets.every(secret => PLAIN.test(secret)) ? writtenForms(secrets).map(patternOf) : null
    return secrets.map(secret => {
      const padded = Buffer.alloc(given.length)
      return { workspace: { id, secrets, secretPatterns }, length: writeOver(padded, secret), padded }
    })
  })
  return (secret, addressed) => {
    const length = writeOver(given, typeof secret === 'string' ? secret : '')
    let match: Authenticated | null = null
    for (const { workspace, length: own, padded } of keys) {
      const fits = timingSafeEqual(given, padded) && length === own
      if (fits && (addressed === null || addressed === workspace.id)) match = workspace
    }
    return match
  }
}

const MEMBER = new RegExp(String.raw`"${EVENT_SECRET}"\s*:\s*("(?:[^"\\]|\\.){1,512}")`, 'g')
/** Maximum number of occurrences of the member that are tried, because a body may be full of them. */
const MOST_MEMBERS = 8

function secretIn(written: string): unknown {
  try {
    return JSON.parse(Buffer.from(written, 'latin1').toString())
  } catch {
    return null
  }
}

/** True where the chunks contain a valid secret. `addressed`: the workspace in the URL, if any. */
export function holdsSecret(
  chunks: readonly Uint8Array[],
  addressed: string | null,
  authenticate: Authenticator,
): boolean {
  const found = Buffer.concat(chunks).toString('latin1').matchAll(MEMBER)
  let tried = 0
  for (const [, written] of found) {
    if (authenticate(secretIn(written!), addressed) !== null) return true
    tried += 1
    if (tried === MOST_MEMBERS) return false
  }
  return false
}
