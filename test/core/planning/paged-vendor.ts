// A vendor reduced to its paging: conversations on a `ts` axis, a closed range, an order, a limit and a cursor.
import { idPrints } from '../../../src/core/planning/no-progress.ts'
import type { WindowQuery } from '../../../src/core/planning/window-query.ts'
import type { PageFacts, Window } from '../../../src/core/planning/windows.ts'

export interface StoredConversation {
  id: number
  tsMs: number
}

export interface PagedVendor {
  all: readonly StoredConversation[]
  /** The unit in which the vendor compares `ts` with the bounds: ms or whole seconds. The API document does not specify it. */
  unit: 'ms' | 's'
}

const inUnit = (ms: number, unit: PagedVendor['unit']): number => (unit === 'ms' ? ms : Math.floor(ms / 1_000))

/** Returns the vendor's answer to a paginated request, in the order that the request asks for. */
export function pageOf(
  vendor: PagedVendor,
  query: WindowQuery,
): { page: StoredConversation[]; cursorOut: string | null } {
  const { unit } = vendor
  const from = query.fromTs === undefined ? Number.NEGATIVE_INFINITY : inUnit(query.fromTs, unit)
  const to = inUnit(query.toTs!, unit)
  const sign = query.sort === 'asc' ? 1 : -1
  const inside = vendor.all
    .filter(({ tsMs }) => inUnit(tsMs, unit) >= from && inUnit(tsMs, unit) <= to)
    .sort((a, b) => sign * (a.tsMs - b.tsMs || a.id - b.id))
  const start = Number(query.cursor ?? 0)
  const end = start + query.limit!
  return { page: inside.slice(start, end), cursorOut: end < inside.length ? String(end) : null }
}

/** Returns the facts of a landed page. */
export function factsOf(
  at: { window: Window; generation: number; sequence: number; limit: number; cursorIn: string | null },
  answer: ReturnType<typeof pageOf>,
): PageFacts {
  const { page, cursorOut } = answer
  return {
    ...at,
    cursorOut,
    hasMore: cursorOut !== null,
    returned: page.length,
    scanned: null,
    billed: page.length,
    atMs: 0,
    lastTsMs: page.at(-1)?.tsMs ?? null,
    missing: [],
    ...(page.length > 0 && { ids: idPrints(page.map(({ id }) => ({ ID: id }))) }),
  }
}
