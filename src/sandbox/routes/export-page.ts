// One export page: the conversations that it scans and returns, the sessions that they bill, and the opaque cursor of the next page.

import { createHash } from 'node:crypto'
import { MINUTE } from '../../core/time.ts'
import type { Readings } from '../readings.ts'
import type { Place } from '../world/order.ts'
import type { World } from '../world/world.ts'
import type { ExportQuery } from './export-query.ts'

export interface ExportPage {
  /** Conversations returned, in order. */
  indices: number[]
  billed: number
  /** Scanned conversations: the returned ones and those skipped because no person has written in them. */
  scanned: number
  hasMore: boolean
  /** Null on the last page. */
  nextCursor: string | null
  /** Cursor for the end of the page, even of the last page. */
  endCursor: string | null
}

export interface PageInput {
  world: World
  agentId: string
  seed: number
  query: ExportQuery
  /** Time of the data: the clock minus the mirror's lag. */
  dataMs: number
  readings: Readings
}

/** The requested conversations in request order, without unknown IDs. */
export function selectedPage({ world, agentId, dataMs }: PageInput, convoIds: readonly string[]): ExportPage {
  const found = convoIds.map(id => world.find(agentId, id, dataMs)).filter(index => index !== undefined)
  const cursors = { hasMore: false, nextCursor: null, endCursor: null }
  return { ...billedOf(world, found, dataMs), scanned: found.length, ...cursors }
}

/** The next page of the query; undefined if the cursor is invalid or belongs to another query. */
export function paginatedPage(input: PageInput): ExportPage | undefined {
  const { world, query, dataMs, readings } = input
  const scope = scopeOf(input)
  const bookmark = readBookmark(query, scope)
  if (bookmark === undefined) return undefined
  if (readings['empty-pages'] === 'between' && isEmptyBefore(bookmark)) return deferredPage(input)
  const { seen, isMore } = scan(input, bookmark.after)
  const isFull = readings['last-page'] === 'full' && seen.length >= query.limit
  const last = seen.at(-1)
  const end = last ? { after: last, stays: 0 } : { ...bookmark, stays: bookmark.stays + 1 }
  const endCursor = encodeCursor(end, scope)
  const hasMore = isMore || isFull
  const indices = seen.map(place => place.index)
  const cursors = { hasMore, nextCursor: hasMore ? endCursor : null, endCursor }
  return { ...billedOf(world, indices, dataMs), scanned: seen.length, ...cursors }
}

/** The positions that the page scans, and whether more follow. */
function scan({ world, agentId, query, dataMs, readings }: PageInput, after: Place | undefined) {
  const { sort, fromMs, toMs, limit } = query
  const counts = (index: number) => readings['page-fill'] === 'looked-at' || world.billable(index, dataMs) > 0
  const seen: Place[] = []
  let counted = 0
  for (const place of world.walk(agentId, { sort, fromMs, toMs, after }, dataMs)) {
    if (counted >= limit) return { seen, isMore: true }
    seen.push(place)
    if (counts(place.index)) counted++
  }
  return { seen, isMore: false }
}

/** True for about every third page of a window: an empty page comes before it. */
const isEmptyBefore = ({ after, stays }: Bookmark): boolean =>
  after !== undefined && stays === 0 && after.index % 3 === 0

/** An empty page; the next page begins where this one would have begun. The query's cursor must be valid. */
export function deferredPage(input: PageInput): ExportPage {
  const scope = scopeOf(input)
  const { after, stays } = readBookmark(input.query, scope) ?? BEGINNING
  const nextCursor = encodeCursor({ after, stays: stays + 1 }, scope)
  return { indices: [], billed: 0, scanned: 0, hasMore: true, nextCursor, endCursor: nextCursor }
}

const BEGINNING: Bookmark = { after: undefined, stays: 0 }

function scopeOf({ seed, agentId, query: { sort, fromMs, toMs } }: PageInput): CursorScope {
  return { seed, agentId, sort, fromMs, toMs }
}

function readBookmark({ cursor }: ExportQuery, scope: CursorScope): Bookmark | undefined {
  return cursor === undefined ? BEGINNING : decodeCursor(cursor, scope)
}

function billedOf(world: World, indices: readonly number[], dataMs: number): Pick<ExportPage, 'indices' | 'billed'> {
  let billed = 0
  const exported = indices.filter(index => {
    const sessions = world.billable(index, dataMs)
    billed += sessions
    return sessions > 0
  })
  return { indices: exported, billed }
}

/** Parameters that must not change while paging; `limit` may. */
interface CursorScope {
  seed: number
  agentId: string
  sort: 'asc' | 'desc'
  fromMs: number
  toMs: number
}

/** Where a page begins. */
interface Bookmark {
  /** The page begins after this position; undefined: at the start. */
  after: Place | undefined
  /** Number of pages that ended at this position, so that their cursors differ. */
  stays: number
}

const CURSOR = /^(?:start|(\d{1,15})\.(\d{1,10}))(?:\+(\d{1,9}))?\.[0-9a-f]{16}$/

export function encodeCursor({ after, stays }: Bookmark, scope: CursorScope): string {
  const place = after === undefined ? 'start' : `${after.ts}.${after.index}`
  const text = stays === 0 ? place : `${place}+${stays}`
  return Buffer.from(`${text}.${seal(text, scope)}`).toString('base64url')
}

/** Where the page of a cursor begins; undefined if the text is not a cursor of this query. */
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

// Applies the reading `cursor-life`: cursors are valid forever, for ten minutes, or for one request.

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
