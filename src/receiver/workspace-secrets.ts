// Reads the webhook secrets of all workspaces that have any.
import type { Config } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { WorkspaceSecrets } from './authenticate.ts'

/** A shorter secret could be guessed, or occur in an event by chance. */
const SHORTEST = 8

/** @throws SECRET_MISSING; CONFIG_INVALID where a secret is too short, or two workspaces have the same one */
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
