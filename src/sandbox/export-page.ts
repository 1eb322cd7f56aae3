// One page of an export: which conversations it looks at, which it returns, and what they bill.
import type { CursorScope } from './cursor.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { ExportQuery } from './export-query.ts'
import type { World } from './world.ts'

export interface ExportPage {
  /** Conversations returned, in order. */
  indices: number[]
  billed: number
  /** Conversations looked at: those returned, and those skipped as no person has written in them. */
  scanned: number
  /** Null on the last page. */
  nextCursor: string | null
}

interface PageInput {
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
  return { ...billedOf(world, found, dataMs), scanned: found.length, nextCursor: null }
}

/** The next page of the query; undefined where its cursor is none, or belongs to another query. */
export function paginatedPage({ world, agentId, seed, query, dataMs }: PageInput): ExportPage | undefined {
  const { sort, fromMs, toMs, cursor, limit } = query
  const scope: CursorScope = { seed, agentId, sort, fromMs, toMs }
  const after = cursor === undefined ? undefined : decodeCursor(cursor, scope)
  if (cursor !== undefined && after === undefined) return undefined

  // One more than the page looks at tells whether there is more.
  const places = []
  for (const place of world.walk(agentId, { sort, fromMs, toMs, after }, dataMs)) {
    places.push(place)
    if (places.length > limit) break
  }
  const seen = places.slice(0, limit)
  const last = seen.at(-1)
  const indices = seen.map(place => place.index)
  const nextCursor = places.length > limit && last ? encodeCursor(last, scope) : null
  return { ...billedOf(world, indices, dataMs), scanned: seen.length, nextCursor }
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
