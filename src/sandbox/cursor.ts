// The opaque cursor: the place behind which the next page begins, sealed to the query that it belongs to.
import { createHash } from 'node:crypto'
import type { Place } from './order.ts'

/** What has to stay the same while paging; `limit` may change. */
export interface CursorScope {
  seed: number
  agentId: string
  sort: 'asc' | 'desc'
  fromMs: number
  toMs: number
}

export function encodeCursor(place: Place, scope: CursorScope): string {
  return Buffer.from(`${place.ts}.${place.index}.${seal(place, scope)}`).toString('base64url')
}

/** Undefined where the text is no cursor, or one of another query. */
export function decodeCursor(text: string, scope: CursorScope): Place | undefined {
  const match = /^(\d{1,15})\.(\d{1,10})\.([0-9a-f]{16})$/.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (!match) return undefined
  const place = { ts: Number(match[1]), index: Number(match[2]) }
  // The text itself is compared as well: base64url reads some other texts as the same bytes.
  return match[3] === seal(place, scope) && encodeCursor(place, scope) === text ? place : undefined
}

function seal({ ts, index }: Place, { seed, agentId, sort, fromMs, toMs }: CursorScope): string {
  return createHash('sha256')
    .update(JSON.stringify([seed, agentId, sort, fromMs, String(toMs), ts, index]))
    .digest('hex')
    .slice(0, 16)
}
