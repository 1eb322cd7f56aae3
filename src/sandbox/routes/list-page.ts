// Page-numbered lists of agents and teams. The API document shows their answers but no query parameters (sections 4.14 and 4.16), so
// these come from the notes on the API and the readings.
import { z } from 'zod'
import type { Readings } from '../readings.ts'
import { type Answer, fault } from './answer.ts'

export interface ListReadings {
  params: Readings['agent-params']
  /** Fixed page size, whatever the request says; undefined: as requested. */
  most: number | undefined
  totals: Readings['agent-totals']
}

/** Position of a page in its list. */
export interface ListPlace {
  page: number
  limit: number
}

const DEFAULT_LIMIT = 50
/** A limit that no list exceeds. */
const MOST = 10_000
const MAX_LIMIT = 100

/** Parses the requested page, or returns `issues`. Without parameters the list is one page. */
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

/** The fields that tell the list's length, as the reading chooses. */
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

/** A whole number from 1 to `max`; `otherwise` if absent, undefined if invalid. */
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

/** The fields of `totalsOf`. */
export const TotalsSchema = {
  total: z.union([z.int(), z.string()]).optional(),
  hasMore: z.union([z.boolean(), z.string()]).optional(),
}

/** Parameters of such a list. */
export const PAGE_QUERY = {
  page: z.int().min(1).max(MAX_PAGE).default(1),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
}
