// Sessions of browsers: a token is exchanged once for a random id in an HttpOnly cookie. Sessions end with this process.
import { createHash, randomBytes } from 'node:crypto'
import { HOUR } from '../../core/time.ts'
import type { StoredToken } from '../../landing/access-tokens.ts'

export const SESSION_COOKIE = 'convohouse_session'

/** A session ends when it was not used for the first time, and at the latest after the second. */
const IDLE_MS = 12 * HOUR
export const LONGEST_SESSION_MS = 7 * 24 * HOUR
const MOST = 10_000

interface Session {
  /** Identifies the token, which may be revoked, or created again under the same name. */
  token: Pick<StoredToken, 'name' | 'sha256'>
  beganMs: number
  usedMs: number
}

/** Sessions are found by the hash of their id, whose lookup reveals nothing about the id. */
const keyOf = (id: string): string => createHash('sha256').update(id).digest('hex')

export class Sessions {
  private readonly sessions = new Map<string, Session>()

  /** Begins a session and returns its id. Beyond the maximum number, the one that was not used for longest ends. */
  begin({ name, sha256 }: StoredToken, nowMs: number): string {
    const id = randomBytes(32).toString('base64url')
    this.sessions.set(keyOf(id), { token: { name, sha256 }, beganMs: nowMs, usedMs: nowMs })
    const [oldest] = this.sessions.keys()
    if (this.sessions.size > MOST) this.sessions.delete(oldest!)
    return id
  }

  /** Returns the token of the session; null if there is none, or if it has ended. */
  use(id: string, nowMs: number): Session['token'] | null {
    const key = keyOf(id)
    const session = this.sessions.get(key)
    if (!session) return null
    this.sessions.delete(key)
    if (nowMs - session.usedMs > IDLE_MS || nowMs - session.beganMs > LONGEST_SESSION_MS) return null
    this.sessions.set(key, { ...session, usedMs: nowMs })
    return session.token
  }

  end(id: string): void {
    this.sessions.delete(keyOf(id))
  }
}
