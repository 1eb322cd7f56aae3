// The tokens of `serve`: `cvh_NAME_SECRET`. The secret is 256 random bits, so its SHA-256 needs neither salt nor many rounds.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AccessTokens, StoredToken } from '../../landing/access-tokens.ts'

/**
 * What a token may be used for; each restricts, none grants what another lacks. `content`: transcripts, names and addresses,
 * as far as the snapshot has them.
 */
export const SCOPES = ['metrics', 'sql', 'content', 'health'] as const
export type Scope = (typeof SCOPES)[number]

const SECRET_BYTES = 32
const TOKEN = /^cvh_([a-z0-9][a-z0-9-]{0,31})_[\w-]{43}$/

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Creates and stores a token. @returns the token, which is shown once; null if the name is taken @throws HOME_UNUSABLE */
export async function createToken(
  tokens: AccessTokens,
  given: Omit<StoredToken, 'sha256'> & { scopes: Scope[] },
): Promise<string | null> {
  const token = `cvh_${given.name}_${randomBytes(SECRET_BYTES).toString('base64url')}`
  const isNew = await tokens.create({ ...given, sha256: sha256(token).toString('hex') })
  return isNew ? token : null
}

export const isExpired = ({ expiresMs }: Pick<StoredToken, 'expiresMs'>, nowMs: number): boolean =>
  expiresMs !== null && expiresMs <= nowMs

/** Compared with the secret of a token that does not exist, so that both cases take the same time. */
const NOTHING = Buffer.alloc(32)

/** Returns the stored token that a text is; null if it is none, expired or revoked. @throws HOME_UNUSABLE */
export async function verifyToken(tokens: AccessTokens, text: string, nowMs: number): Promise<StoredToken | null> {
  const [, name] = TOKEN.exec(text) ?? []
  const stored = name === undefined ? null : await tokens.find(name)
  const isEqual = timingSafeEqual(sha256(text), stored ? Buffer.from(stored.sha256, 'hex') : NOTHING)
  return stored && isEqual && !isExpired(stored, nowMs) ? stored : null
}
