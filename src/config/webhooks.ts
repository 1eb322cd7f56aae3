// Settings of the webhook receiver, and the places of each workspace's secrets.
import { resolve } from 'node:path'
import { z } from 'zod'
import { sizeOf } from '../core/words.ts'
import { absolutePlace, type Environment, type SecretPlace, secretPlace, secretReader } from './kept-secret.ts'

/** Bounds of the setting `maxBody`. DuckDB reads lines of up to 16 MB, and a body may grow when it is rewritten. */
const BODY_BYTES = { min: 1_024, max: 12_000_000 }

const SIZE = /^\d+(\.\d+)?\s*([KMG]i?B|B)$/i

const bytesOf = (text: string): number => Math.floor(sizeOf(text))

const bodySize = z
  .string()
  .refine(text => {
    const bytes = bytesOf(text)
    return SIZE.test(text) && bytes >= BODY_BYTES.min && bytes <= BODY_BYTES.max
  }, 'must be a size from 1KiB to 12MB')
  .transform(bytesOf)

export const webhookSettings = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(8_787),
  maxBody: bodySize.prefault('8MB'),
  maxConnections: z.int().min(1).max(65_535).default(1_000),
})

export const webhookSecrets = z.strictObject({
  secrets: z
    .array(secretPlace('secret'))
    .min(1, 'must name at least one secret')
    .max(4, 'must name at most four secrets'),
})

export const webhookConfig = ({ maxBody, ...given }: z.infer<typeof webhookSettings>) => ({
  ...given,
  maxBodyBytes: maxBody,
})

/** Returns the absolute paths of the files with a workspace's secrets. */
export const secretFiles = (given: z.infer<typeof webhookSecrets> | undefined, folder: string): string[] =>
  (given?.secrets ?? []).flatMap(place => ('file' in place ? [resolve(folder, place.file)] : []))

/** Returns a reader of a workspace's secrets; null if it has none. */
export function secretsReader(
  given: z.infer<typeof webhookSecrets> | undefined,
  folder: string,
  env: Environment,
): (() => string[]) | null {
  if (!given) return null
  const kept = { what: 'webhook secret', code: 'SECRET_MISSING' } as const
  const readers = given.secrets.map(place => secretReader(absolutePlace(place, folder), env, kept))
  return () => readers.map(read => read())
}

/** Variables for the secret if there is no configuration file: the current secret and, during a rotation, the next one. */
const SECRET_NAMES = ['CONVOHOUSE_WEBHOOK_SECRET', 'CONVOHOUSE_WEBHOOK_SECRET_NEXT'] as const

/** Returns the places of the secrets: each is in the variable, or in the file that `…_FILE` names. */
export function secretsInEnvironment(env: Environment): { secrets: SecretPlace[] } | undefined {
  const secrets = SECRET_NAMES.flatMap((name): SecretPlace[] => {
    const file = env[`${name}_FILE`]
    if (file) return [{ file }]
    return env[name] ? [{ env: name }] : []
  })
  return secrets.length > 0 ? { secrets } : undefined
}
