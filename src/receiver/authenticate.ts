// Authentication: an event belongs to the workspace whose secret it contains.
import { createHmac, randomBytes } from 'node:crypto'
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

/** Compares hashes with a random key: how long that takes says nothing about a secret. */
export function makeAuthenticator(workspaces: readonly WorkspaceSecrets[]): Authenticator {
  const key = randomBytes(32)
  const hashOf = (text: string) => createHmac('sha256', key).update(text).digest('base64')
  const byHash = new Map<string, Authenticated>()
  for (const { id, secrets } of workspaces) {
    const workspace = { id, secretForms: writtenForms(secrets) }
    for (const secret of secrets) byHash.set(hashOf(secret), workspace)
  }
  return (secret, addressed) => {
    const found = byHash.get(hashOf(typeof secret === 'string' ? secret : ''))
    return found && (addressed === null || addressed === found.id) ? found : null
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
