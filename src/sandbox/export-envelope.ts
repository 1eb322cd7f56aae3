// What stands around the records of an export's answer (API document, sections 4.12 and 2.11), as the readings have it.
import { SECOND } from '../core/time.ts'
import type { ExportPage } from './export-page.ts'
import type { ExportQuery } from './export-query.ts'
import { FIRST_MS } from './export-query.ts'
import type { Told } from './faults/told.ts'
import type { Readings } from './readings.ts'

const SOURCE = 'postgres_mirror'

export interface Answered {
  query: ExportQuery
  page: ExportPage
  told: Told
}

/** All fields behind `data`, in the order of section 4.12. */
export function envelopeTail(readings: Readings, { query, page, told: { usage, rateLimit } }: Answered): object {
  const tail = {
    ...(readings.usage === 'present' && { usage }),
    ...(readings['rate-limit'] === 'present' && { rateLimit }),
    ...laidOut(pagingOf(readings, query, page), readings.paging),
    ...(readings.usage === 'nested' && { meta: { usage } }),
  }
  return readings.numbers === 'text' ? (spelled(tail) as object) : tail
}

function laidOut(paging: object, reading: Readings['paging']): object {
  return { ...(reading !== 'nested' && paging), ...(reading !== 'flat' && { paging }) }
}

function pagingOf(readings: Readings, query: ExportQuery, page: ExportPage): object {
  const { convoIds, limit } = query
  const { hasMore, scanned, indices } = page
  const isThere = (name: 'limit' | 'mode' | 'source') => readings[name] === 'present'
  const isScanned = readings.scanned === 'looked-at'
  return {
    ...(readings['has-more'] !== 'absent' && { hasMore: readings['has-more'] === 'text' ? String(hasMore) : hasMore }),
    ...nextCursor(readings, page),
    ...(isThere('limit') && { limit: convoIds ? convoIds.length : limit }),
    ...(isThere('mode') && { mode: convoIds ? 'selected' : 'paginated' }),
    ...(readings.scanned !== 'absent' && { scannedConvoCount: isScanned ? scanned : indices.length }),
    ...(isThere('source') && { source: SOURCE }),
    ...(readings.echo !== 'absent' && { query: echoed(query, readings.echo) }),
  }
}

/** Where nothing but the cursor tells whether there is more, the last page says that there is none. */
function nextCursor(
  readings: Readings,
  { hasMore, nextCursor, endCursor }: ExportPage,
): { nextCursor?: string | null } {
  if (hasMore || nextCursor !== null) return { nextCursor }
  const saysAll = readings['has-more'] === 'absent'
  switch (readings['last-cursor']) {
    case 'absent':
      return saysAll ? { nextCursor } : {}
    case 'empty':
      return { nextCursor: '' }
    case 'present':
      return { nextCursor: saysAll ? nextCursor : endCursor }
    default:
      return { nextCursor }
  }
}

function echoed({ sort, fromTs, toTs }: ExportQuery, reading: Readings['echo']): object {
  const inUnit = (bound: number | null) => {
    if (bound === null || reading === 'as-sent') return bound
    const isMs = bound >= FIRST_MS
    if (reading === 's') return isMs ? Math.floor(bound / SECOND) : bound
    return isMs ? bound : bound * SECOND
  }
  return { sort, fromTs: inUnit(fromTs), toTs: inUnit(toTs) }
}

/** Every number in it as text. */
function spelled(value: unknown): unknown {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, spelled(inner)]))
}
