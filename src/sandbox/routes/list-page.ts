// Lists that are paged by number, of agents and of teams: the API document shows their answers and no query (sections 4.14 and
// 4.16); what callers may ask is settled by the notes on the API, and by the readings.
import type { Readings } from '../readings.ts'
import { type Answer, fault } from './answer.ts'

export interface ListReadings {
  params: Readings['agent-params']
  /** Entries of a page, however many are asked for; undefined: as many as asked for. */
  most: number | undefined
  totals: Readings['agent-totals']
}

/** Where a page lies in its list. */
export interface ListPlace {
  page: number
  limit: number
}

const DEFAULT_LIMIT = 50
/** More than any list holds. */
const MOST = 10_000
const MAX_LIMIT = 100

/** What is asked for; `issues` where that cannot be read. A list whose parameters are not read is one page. */
export function listPlace(params: URLSearchParams, readings: ListReadings): ListPlace | { issues: string[] } {
  if (readings.params === 'refused' && params.size > 0)
    return { issues: [...new Set(params.keys())].map(name => `${name} is not known`) }
  if (readings.params !== 'read') return { page: 1, limit: MOST }
  const page = readCount(params, 'page', { otherwise: 1, max: MAX_PAGE })
  const limit = readCount(params, 'limit', { otherwise: DEFAULT_LIMIT, max: MAX_LIMIT })
  const issues: string[] = []
  if (page === undefined) issues.push('page must be a whole number from 1')
  if (limit === undefined) issues.push(`limit must be a whole number from 1 to ${MAX_LIMIT}`)
  return issues.length > 0 ? { issues } : { page: page!, limit: Math.min(limit!, readings.most ?? limit!) }
}

export const invalidQuery = (issues: string[]): Answer => fault(400, 'Invalid query', { issues })

export function onPage<T>(list: readonly T[], { page, limit }: ListPlace): T[] {
  return list.slice((page - 1) * limit, page * limit)
}

/** Whether and how an answer tells of the list's length. */
export function totalsOf(length: number, { page, limit }: ListPlace, { totals }: ListReadings) {
  const hasMore = page * limit < length
  switch (totals) {
    case 'hasMore':
      return { hasMore }
    case 'total':
      return { total: length }
    case 'neither':
      return {}
    case 'text':
      return { total: String(length), hasMore: String(hasMore) }
    default:
      return { total: length, hasMore }
  }
}

// Whole numbers in a query, such as `page` and `limit`.

/** The number as sent, `otherwise` where none is; undefined where it is none from 1 to `max`. */
function readCount(
  params: URLSearchParams,
  name: string,
  { otherwise, max }: { otherwise: number; max: number },
): number | undefined {
  const sent = params.get(name)
  if (sent === null) return otherwise
  const count = /^\d{1,7}$/.test(sent) ? Number(sent) : 0
  return count >= 1 && count <= max ? count : undefined
}

/** Pages are counted from 1. */
const MAX_PAGE = 1_000_000
