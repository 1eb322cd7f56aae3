// Authentication: an event belongs to the workspace whose secret it contains. All secrets are compared, in constant time.
import { timingSafeEqual } from 'node:crypto'
import { EVENT_SECRET } from '../catalog/events/event-types.ts'
import { writtenForms } from '../client/redaction/redaction.ts'
import type { Config } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'

export interface WorkspaceSecrets {
  id: string
  /** All valid secrets; several during a rotation. */
  secrets: readonly string[]
}

interface Authenticated {
  id: string
  /** Every encoding of the workspace's secrets, longest first. */
  secretForms: readonly string[]
}

/** Finds the workspace of a secret, which must be the `addressed` one if that is not null. Null if the secret is not valid. */
export type Authenticator = (given: unknown, addressed: string | null) => Authenticated | null

/** Extra bytes, so that a longer text is not truncated to a secret's length. A character takes up to four bytes. */
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

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [BRACE, BRACKET, END_BRACE, END_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d]

/** Length of the name in a body: at least with its quotes, at most with an escape for each character. */
const SHORTEST_NAME = `"${EVENT_SECRET}"`.length
const LONGEST_NAME = EVENT_SECRET.length * '\\u0000'.length + 2

/** Returns the position behind the string that begins at `at`; -1 if its end has not arrived. */
function endOfString(body: Buffer, at: number): number {
  for (let next = at + 1; next < body.length; next++) {
    if (body[next] === BACKSLASH) next += 1
    else if (body[next] === QUOTE) return next + 1
  }
  return -1
}

/** Returns a string as a parser reads it; undefined if a parser refuses it. */
function stringAt(body: Buffer, at: number, end: number): unknown {
  try {
    return JSON.parse(body.toString('utf8', at, end))
  } catch {
    return undefined
  }
}

/**
 * Reads the secret as `JSON.parse` would: the last member of its name in the outermost object, at any position and with
 * any escapes. Builds no values, because megabytes of brackets from anyone parse to hundreds of megabytes.
 */
function secretIn(body: Buffer): unknown {
  let found: unknown
  let depth = 0
  let isNamed = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === BRACE || byte === BRACKET) depth += 1
    else if (byte === END_BRACE || byte === END_BRACKET) depth -= 1
    else if (byte === COMMA && depth === 1) isNamed = false
    if (byte !== QUOTE) continue
    const end = endOfString(body, at)
    if (end < 0) return found
    const length = end - at
    if (depth === 1 && isNamed) found = stringAt(body, at, end)
    else if (depth === 1 && length >= SHORTEST_NAME && length <= LONGEST_NAME)
      isNamed = stringAt(body, at, end) === EVENT_SECRET
    at = end - 1
  }
  return found
}

/** True if a body, or the part of it that has arrived, contains a valid secret. `addressed`: the workspace in the URL, if any. */
export const holdsSecret = (body: Buffer, addressed: string | null, authenticate: Authenticator): boolean =>
  authenticate(secretIn(body), addressed) !== null

// Reads the webhook secrets of all workspaces that have any.

/** Minimum length: a shorter secret could be guessed, or occur in an event by chance. */
const SHORTEST = 8

/** @throws SECRET_MISSING; CONFIG_INVALID if a secret is too short, or two workspaces have the same one */
export function readWorkspaceSecrets({
  workspaces,
  source,
}: Pick<Config, 'workspaces' | 'source'>): WorkspaceSecrets[] {
  const read = workspaces.flatMap(({ id, readWebhookSecrets }) =>
    readWebhookSecrets ? [{ id, secrets: [...new Set(readWebhookSecrets())] }] : [],
  )
  const all = read.flatMap(({ secrets }) => secrets)
  const invalid = (what: string, hint: string) =>
    new ConvohouseError('CONFIG_INVALID', { what: `${source}: ${what}`, hint })
  const short = read.find(({ secrets }) => secrets.some(secret => secret.length < SHORTEST))
  if (short)
    throw invalid(
      `a webhook secret of workspace ${JSON.stringify(short.id)} has fewer than ${SHORTEST} characters.`,
      'Have the vendor make a new one.',
    )
  if (new Set(all).size < all.length)
    throw invalid(
      'two workspaces have the same webhook secret: events could not be attributed to either.',
      'Give each workspace its own.',
    )
  return read
}
