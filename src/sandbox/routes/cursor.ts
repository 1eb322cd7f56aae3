// The opaque cursor: the position after which the next page begins, bound to its query, and how long it stays valid.

import { createHash } from 'node:crypto'
import { MINUTE } from '../../core/time.ts'
import type { Readings } from '../readings.ts'
import type { Place } from '../world/order.ts'

/** Parameters that must not change while paging; `limit` may. */
export interface CursorScope {
  seed: number
  agentId: string
  sort: 'asc' | 'desc'
  fromMs: number
  toMs: number
}

/** Where a page begins. */
export interface Bookmark {
  /** Undefined: at the start. */
  after: Place | undefined
  /** Number of pages that ended at this position: makes their cursors differ. */
  stays: number
}

const CURSOR = /^(?:start|(\d{1,15})\.(\d{1,10}))(?:\+(\d{1,9}))?\.[0-9a-f]{16}$/

export function encodeCursor({ after, stays }: Bookmark, scope: CursorScope): string {
  const place = after === undefined ? 'start' : `${after.ts}.${after.index}`
  const text = stays === 0 ? place : `${place}+${stays}`
  return Buffer.from(`${text}.${seal(text, scope)}`).toString('base64url')
}

/** Undefined if the text is not a cursor of this query. */
export function decodeCursor(text: string, scope: CursorScope): Bookmark | undefined {
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (!match) return undefined
  const after = match[1] === undefined ? undefined : { ts: Number(match[1]), index: Number(match[2]) }
  const bookmark = { after, stays: Number(match[3] ?? 0) }
  // Compares the text too: several base64url texts decode to the same bytes.
  return encodeCursor(bookmark, scope) === text ? bookmark : undefined
}

function seal(place: string, { seed, agentId, sort, fromMs, toMs }: CursorScope): string {
  return createHash('sha256')
    .update(JSON.stringify([seed, agentId, sort, fromMs, String(toMs), place]))
    .digest('hex')
    .slice(0, 16)
}

/** Applies the reading `cursor-life`: cursors are valid forever, for ten minutes, or for one request. */

const TEN_MINUTES = 10 * MINUTE

export class CursorLife {
  private readonly reading: Readings['cursor-life']
  /** Time of last issue, by cursor. */
  private readonly issued = new Map<string, number>()

  constructor(reading: Readings['cursor-life']) {
    this.reading = reading
  }

  issue(cursor: string | null, nowMs: number): void {
    if (this.reading !== 'forever' && cursor !== null) this.issued.set(cursor, nowMs)
  }

  /** False if the cursor has expired. */
  use(cursor: string | undefined, nowMs: number): boolean {
    if (this.reading === 'forever' || cursor === undefined) return true
    const issuedMs = this.issued.get(cursor)
    if (this.reading === 'once') this.issued.delete(cursor)
    return issuedMs !== undefined && (this.reading === 'once' || nowMs - issuedMs < TEN_MINUTES)
  }
}
