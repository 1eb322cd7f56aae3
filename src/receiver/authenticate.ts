// Authentication: an event belongs to the workspace whose secret it contains. All secrets are compared in constant time, even after a match.
import { timingSafeEqual } from 'node:crypto'
import { EVENT_SECRET } from '../catalog/events/event-types.ts'
import { writtenForms } from '../client/redaction/redaction.ts'

export interface WorkspaceSecrets {
  id: string
  /** All valid secrets: several while a secret is being rotated. */
  secrets: readonly string[]
}

interface Authenticated {
  id: string
  /** Every encoding of the workspace's secrets, longest first. */
  secretForms: readonly string[]
}

/** Finds the workspace of a secret, which must be the `addressed` one if that is not null; null where the secret is not valid. */
export type Authenticator = (given: unknown, addressed: string | null) => Authenticated | null

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
    const workspace = { id, secretForms: writtenForms(secrets) }
    return secrets.map(secret => {
      const padded = Buffer.alloc(given.length)
      return { workspace, length: writeOver(padded, secret), padded }
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

const NAME = Buffer.from(`"${EVENT_SECRET}"`)
const VALUE = /^\s*:\s*("(?:[^"\\]|\\.){1,512}")/
/** The longest value, with an escape for each character. */
const VALUE_BYTES = 4_096
/** Maximum number of occurrences of the name that are tried, because a body may be full of them. */
const MOST_TRIED = 100

function secretIn(written: string | undefined): unknown {
  try {
    return written && JSON.parse(Buffer.from(written, 'latin1').toString())
  } catch {
    return null
  }
}

/** True where a body, or the part of it that has arrived, contains a valid secret. `addressed`: the workspace in the URL, if any. */
export function holdsSecret(body: Buffer, addressed: string | null, authenticate: Authenticator): boolean {
  let at = body.indexOf(NAME)
  for (let tried = 0; at >= 0 && tried < MOST_TRIED; tried++) {
    at += NAME.length
    const [, written] = VALUE.exec(body.toString('latin1', at, at + VALUE_BYTES)) ?? []
    if (authenticate(secretIn(written), addressed) !== null) return true
    at = body.indexOf(NAME, at)
  }
  return false
}
