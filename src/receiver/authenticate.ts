// Authentication: an event belongs to the workspace whose secret it contains. All secrets are compared, in constant time.
import { timingSafeEqual } from 'node:crypto'
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
