// Fast path: stores an unambiguous body unchanged, minus the secret. The reader of the spool derives the event's ID and type.
import { isUtf8 } from 'node:buffer'
import type { Authenticator } from '../authenticate.ts'
import type { ParsedEvent } from './parse-event.ts'
import { findSecret } from './scan.ts'

/** Cuts a range out in place. The bytes before it are moved, because there are usually fewer of them. */
function cutOut(body: Buffer, from: number, to: number): Buffer {
  const left = to - from
  body.copyWithin(left, 0, from)
  return body.subarray(left)
}

/** Null where the body must be parsed. `addressed`: the workspace in the URL, if any. Overwrites `body` where it returns an event. */
export function parseAsSent(body: Buffer, addressed: string | null, authenticate: Authenticator): ParsedEvent | null {
  const member = isUtf8(body) ? findSecret(body) : null
  if (member === null) return null
  const { secret, from, to } = member
  const workspace = authenticate(secret, addressed)
  if (workspace === null) return { refused: 'wrong-secret' }
  const isElsewhere = (pattern: Buffer): boolean => {
    const first = body.indexOf(pattern)
    return (first >= 0 && first < from) || body.indexOf(pattern, to) >= 0
  }
  if (workspace.secretPatterns === null || workspace.secretPatterns.some(isElsewhere)) return null
  return { event: { id: null, type: null, workspaceId: workspace.id, payload: cutOut(body, from, to) } }
}
