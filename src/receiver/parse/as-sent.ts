// Takes a body as it was sent, but for the secret, where nothing of it is in doubt: what is appended are its bytes, and whoever reads the
// spool finds out which event it is.
import { isUtf8 } from 'node:buffer'
import type { Authenticator } from '../authenticate.ts'
import type { ParsedEvent } from './parse-event.ts'
import { findSecret } from './scan.ts'

/** What stands before the piece is moved up to what stands behind it: mostly, that is little. */
function cutOut(body: Buffer, from: number, to: number): Buffer {
  const left = to - from
  body.copyWithin(left, 0, from)
  return body.subarray(left)
}

/** Null where the body is to be judged by its values. `addressed`: the workspace in the address, if any. The body is used up where it is kept. */
export function parseAsSent(body: Buffer, addressed: string | null, authenticate: Authenticator): ParsedEvent | null {
  const member = isUtf8(body) ? findSecret(body) : null
  if (member === null) return null
  const { secret, from, to } = member
  const opened = authenticate(secret, addressed)
  if (opened === null) return { refused: 'wrong-secret' }
  const isElsewhere = (trace: Buffer): boolean => {
    const first = body.indexOf(trace)
    return (first >= 0 && first < from) || body.indexOf(trace, to) >= 0
  }
  if (opened.secretPatterns === null || opened.secretPatterns.some(isElsewhere)) return null
  return { event: { id: null, type: null, workspaceId: opened.id, payload: cutOut(body, from, to) } }
}
