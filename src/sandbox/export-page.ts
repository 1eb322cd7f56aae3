// One page of an export: which conversations it looks at, which it returns, and what they bill.
import type { Bookmark, CursorScope } from './cursor.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { ExportQuery } from './export-query.ts'
import type { World } from './world.ts'

export interface ExportPage {
  /** Conversations returned, in order. */
  indices: number[]
  billed: number
  /** Conversations looked at: those returned, and those skipped as no person has written in them. */
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
  /** Time of the data: the clock's less the mirror's lag. */
  dataMs: number
}

/** The conversations asked for by id, in the order asked; unknown ones are left out. */
export function selectedPage({ world, agentId, dataMs }: PageInput, convoIds: readonly string[]): ExportPage {
  const found = convoIds.map(id => world.find(agentId, id, dataMs)).filter(index => index !== undefined)
  return { ...billedOf(world, found, dataMs), scanned: found.length, hasMore: false, nextCursor: null }
}

/** The next page of the query; undefined where its cursor is none, or belongs to another query. */
export function paginatedPage(input: PageInput): ExportPage | undefined {
  const { world, agentId, query, dataMs } = input
  const { sort, fromMs, toMs, limit } = query
  const scope = scopeOf(input)
  const bookmark = readBookmark(query, scope)
  if (bookmark === undefined) return undefined
  const { after } = bookmark
  // One more than the page looks at tells whether there is more.
  const places = []
  for (const place of world.walk(agentId, { sort, fromMs, toMs, after }, dataMs)) {
    places.push(place)
    if (places.length > limit) break
  }
  const seen = places.slice(0, limit)
  const last = seen.at(-1)
  const indices = seen.map(place => place.index)
  const nextCursor = places.length > limit && last ? encodeCursor({ after: last, stays: 0 }, scope) : null
  return { ...billedOf(world, indices, dataMs), scanned: seen.length, hasMore: nextCursor !== null, nextCursor }
}

/** A page that looks at nothing, and behind which the next begins where this one would have; its cursor has to be good. */
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
