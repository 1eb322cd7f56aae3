// Whether a body that has not come whole yet is of one of the workspaces: a valid secret is among what has come.
import { EVENT_SECRET } from '../catalog/events.ts'
import type { Authenticator } from './authenticate.ts'

const MEMBER = new RegExp(String.raw`"${EVENT_SECRET}"\s*:\s*("(?:[^"\\]|\\.){1,512}")`, 'g')
/** Members of that name which are tried: a body may be full of them. */
const MOST_MEMBERS = 8

function secretIn(written: string): unknown {
  try {
    return JSON.parse(Buffer.from(written, 'latin1').toString())
  } catch {
    return null
  }
}

/** `addressed`: the workspace in the address, if any. */
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
