// Who sends a request, and what it may do.
//
//   Authorization: Bearer TOKEN ──▶ the token's scopes        cookie of a session ──▶ those of its token
//   neither, while no token exists, directly from this machine, at an address of this machine ──▶ everything
import { ConvohouseError } from '../../core/errors.ts'
import { MINUTE } from '../../core/time.ts'
import type { AccessTokens, StoredToken } from '../../landing/access-tokens.ts'
import { isLoopback } from './request-rules.ts'
import type { Sessions } from './sessions.ts'
import { isExpired, SCOPES, type Scope, verifyToken } from './tokens.ts'

export interface Principal {
  /** Name of the token; null without one. */
  token: string | null
  scopes: ReadonlySet<Scope>
}

/** The parts of a request that say who sends it. */
export interface Credentials {
  authorization: string | undefined
  session: string | undefined
  remoteAddress: string | undefined
  isForwarded: boolean
}

const refused = (what: string, hint: string) => new ConvohouseError('NOT_SIGNED_IN', { what, hint })

const RENEW = 'Create another one: `convohouse token create NAME`.'

/** Interval at which the last use of a token is written. */
const NOTE_EVERY_MS = 10 * MINUTE

interface AccessOptions {
  tokens: AccessTokens
  sessions: Sessions
  /** The address that `serve` listens at. */
  listensAt: string
  now: () => number
}

export class Access {
  private readonly options: AccessOptions
  private readonly notedMs = new Map<string, number>()

  constructor(options: AccessOptions) {
    this.options = options
  }

  /** @throws NOT_SIGNED_IN, HOME_UNUSABLE */
  async principalOf({ authorization, session, ...from }: Credentials): Promise<Principal> {
    if (authorization !== undefined) {
      const [, text] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
      return this.used(await this.verified(text ?? ''))
    }
    if (session !== undefined) return this.used(await this.ofSession(session))
    return this.withoutToken(from)
  }

  /** Exchanges a token for a session. @returns its id @throws NOT_SIGNED_IN, HOME_UNUSABLE */
  async signIn(token: string): Promise<string> {
    const stored = await this.verified(token)
    this.used(stored)
    return this.options.sessions.begin(stored, this.options.now())
  }

  private async verified(text: string): Promise<StoredToken> {
    const stored = await verifyToken(this.options.tokens, text, this.options.now())
    if (stored === null) throw refused('The token is unknown, expired or revoked.', RENEW)
    return stored
  }

  private async ofSession(id: string): Promise<StoredToken> {
    const { sessions, tokens, now } = this.options
    const of = sessions.use(id, now())
    const stored = of && (await tokens.find(of.name))
    if (stored && stored.sha256 === of?.sha256 && !isExpired(stored, now())) return stored
    throw refused('The session has ended.', 'Sign in again with a token.')
  }

  private async withoutToken(from: Pick<Credentials, 'remoteAddress' | 'isForwarded'>): Promise<Principal> {
    const isLocal = isLoopback(this.options.listensAt) && isLoopback(from.remoteAddress ?? '') && !from.isForwarded
    if (isLocal && (await this.options.tokens.names()).length === 0) return { token: null, scopes: new Set(SCOPES) }
    throw refused('The request has no token.', 'Send one as `Authorization: Bearer TOKEN` (`convohouse token create`).')
  }

  private used({ name, scopes }: StoredToken): Principal {
    const { tokens, now } = this.options
    if (now() - (this.notedMs.get(name) ?? 0) > NOTE_EVERY_MS) {
      this.notedMs.set(name, now())
      void tokens.noteUse(name, now())
    }
    return { token: name, scopes: new Set(SCOPES.filter(scope => scopes.includes(scope))) }
  }
}
