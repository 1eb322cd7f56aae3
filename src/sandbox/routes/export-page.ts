// One export page: the conversations that it scans and returns, the sessions that they bill, and the opaque cursor of the next page.

import type { Place } from '../world/roster.ts'
import type { World } from '../world/world.ts'
import type { ExportQuery } from './export-query.ts'

export interface ExportPage {
  /** Conversations returned, in order. */
  indices: number[]
  billed: number
  /** Number of scanned conversations: the returned ones and those skipped because no person has written in them. */
  scanned: number
  hasMore: boolean
  /** Null on the last page. */
  nextCursor: string | null
}

export interface PageInput {
  world: World
  agentId: string
  seed: number
  query: ExportQuery
  /** Time of the data: the clock minus the mirror's lag. */
  dataMs: number
}

/** Returns the requested conversations in request order, without unknown IDs. */
export function selectedPage({ world, agentId, dataMs }: PageInput, convoIds: readonly string[]): ExportPage {
  const found = convoIds.map(id => world.find(agentId, id, dataMs)).filter(index => index !== undefined)
  return { ...billedOf(world, found, dataMs), scanned: found.length, hasMore: false, nextCursor: null }
}

/** Returns the next page of the query; undefined if the cursor is invalid or belongs to another query. */
export function paginatedPage(input: PageInput): ExportPage | undefined {
  const { world, agentId, query, dataMs } = input
  const { sort, fromMs, toMs, limit } = query
  const scope = scopeOf(input)
  const bookmark = readBookmark(query, scope)
  if (bookmark === undefined) return undefined
  const seen: Place[] = []
  let hasMore = false
  for (const place of world.walk(agentId, { sort, fromMs, toMs, after: bookmark.after }, dataMs)) {
    hasMore = seen.length >= limit
    if (hasMore) break
    seen.push(place)
  }
  const nextCursor = hasMore ? encodeCursor({ after: seen.at(-1), stays: 0 }, scope) : null
  const indices = seen.map(place => place.index)
  return { ...billedOf(world, indices, dataMs), scanned: seen.length, hasMore, nextCursor }
}

/** Returns an empty page; the next page begins where this one would have begun. The query's cursor must be valid. */
export function deferredPage(input: PageInput): ExportPage {
  const scope = scopeOf(input)
  const { after, stays } = readBookmark(input.query, scope) ?? BEGINNING
  const nextCursor = encodeCursor({ after, stays: stays + 1 }, scope)
  return { indices: [], billed: 0, scanned: 0, hasMore: true, nextCursor }
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

/** Parameters that must not change while paging, unlike `limit`. */
interface CursorScope {
  seed: number
  agentId: string
  sort: 'asc' | 'desc'
  fromMs: number
  toMs: number
}

/** The beginning of a page. */
interface Bookmark {
  /** Position before the page; undefined at the start. */
  after: Place | undefined
  /** Number of empty pages at this position, so that their cursors differ. */
  stays: number
}

function encodeCursor(
  { after = null, stays }: { after?: Place | null | undefined; stays: number },
  scope: CursorScope,
) {
  return Buffer.from(JSON.stringify([after, stays, scope])).toString('base64url')
}

/** Decodes where the page of a cursor begins; undefined if the text is not a cursor of this query. */
function decodeCursor(text: string, scope: CursorScope): Bookmark | undefined {
  try {
    const [after, stays] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [Place | null, number]
    return encodeCursor({ after, stays }, scope) === text ? { after: after ?? undefined, stays } : undefined
  } catch {
    return undefined
  }
}
