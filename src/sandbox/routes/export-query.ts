// Parses and validates the query of an export request (API document, sections 4.12 and 8).
import { z } from 'zod'
import { SECOND } from '../../core/time.ts'
import type { Readings } from '../readings.ts'

export interface ExportQuery {
  format: 'json' | 'csv'
  sort: 'asc' | 'desc'
  /** As sent, for the echoed `query`. */
  fromTs: number | null
  toTs: number | null
  /** Inclusive bounds in ms; 0 and infinity if absent. */
  fromMs: number
  toMs: number
  limit: number
  cursor: string | undefined
  /** The selected IDs without duplicates; undefined in paginated mode. */
  convoIds: string[] | undefined
}

type ParsedQuery = { query: ExportQuery } | { issues: string[] }

const DEFAULT_LIMIT = 20
/** Maximum page size and number of selected IDs of a paid workspace; the export of any other is refused. */
const MAX_LIMIT = 100
const MAX_IDS = 500

/** Parameters that the export reads; others are ignored. */
export const ExportParams = z.object({
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  sort: z.enum(['desc', 'asc']).default('desc'),
  fromTs: z.int().min(0).optional(),
  toTs: z.int().min(0).optional(),
  cursor: z.string().optional(),
  convoIds: z.string().optional(),
  format: z.enum(['json', 'csv']).default('json'),
})

/** A bound below this is in seconds, any other in milliseconds; a bound of `BEYOND_TIME` or more is invalid. */
export const FIRST_MS = 1e11
const BEYOND_TIME = 1e14

export function parseExportQuery(params: URLSearchParams, readings: Readings): ParsedQuery {
  const issues: string[] = readings['unknown-params'] === 'refused' ? unknownParams(params) : []
  const note = (issue: string): undefined => void issues.push(issue)
  const fromTs = readBound(params, 'fromTs', note)
  const toTs = readBound(params, 'toTs', note)
  const query: ExportQuery = {
    format: readChoice(params, 'format', ['json', 'csv'], note),
    sort: readChoice(params, 'sort', ['desc', 'asc'], note),
    fromTs,
    toTs,
    fromMs: fromTs === null ? 0 : firstMsOf(fromTs, readings.bounds),
    toMs: toTs === null ? Number.POSITIVE_INFINITY : lastMsOf(toTs, readings.bounds),
    limit: readLimit(params, note),
    cursor: params.get('cursor') || undefined,
    convoIds: readIds(params, note),
  }
  return issues.length > 0 ? { issues } : { query }
}

type Note = (issue: string) => undefined

function readChoice<T extends string>(
  params: URLSearchParams,
  name: string,
  choices: readonly [T, ...T[]],
  note: Note,
): T {
  const sent = params.get(name)
  if (sent === null) return choices[0]
  const chosen = choices.find(choice => choice === sent)
  if (chosen === undefined) note(`${name} must be one of ${choices.join(', ')}`)
  return chosen ?? choices[0]
}

function readLimit(params: URLSearchParams, note: Note): number {
  const sent = params.get('limit')
  if (sent === null) return DEFAULT_LIMIT
  const limit = /^\d{1,6}$/.test(sent) ? Number(sent) : 0
  if (limit < 1 || limit > MAX_LIMIT) note(`limit must be a whole number from 1 to ${MAX_LIMIT}`)
  return limit
}

function readBound(params: URLSearchParams, name: string, note: Note): number | null {
  const sent = params.get(name)
  if (sent === null) return null
  if (/^\d{1,15}$/.test(sent) && Number(sent) < BEYOND_TIME) return Number(sent)
  note(`${name} must be unix seconds or milliseconds`)
  return null
}

function inMs(bound: number): number {
  return bound < FIRST_MS ? bound * SECOND : bound
}

function firstMsOf(bound: number, reading: Readings['bounds']): number {
  return reading === 's' ? Math.floor(inMs(bound) / SECOND) * SECOND : inMs(bound)
}

/** A bound in seconds covers the entire second: both ends are inclusive, so adjacent windows in seconds leave no gap. */
function lastMsOf(bound: number, reading: Readings['bounds']): number {
  if (reading === 's') return firstMsOf(bound, reading) + SECOND - 1
  return bound < FIRST_MS && reading === 'ms' ? bound * SECOND + SECOND - 1 : inMs(bound)
}

/** Issues under the reading `refused`: unknown parameters, and repeated ones (`convoIds` must be one comma-separated value). */
function unknownParams(params: URLSearchParams): string[] {
  const unknown = [...new Set(params.keys())].filter(name => !Object.hasOwn(ExportParams.shape, name))
  const twice = [...new Set(params.keys())].filter(name => params.getAll(name).length > 1)
  return [...unknown.map(name => `${name} is not known`), ...twice.map(name => `${name} is given twice`)]
}

function readIds(params: URLSearchParams, note: Note): string[] | undefined {
  if (!params.has('convoIds')) return undefined
  const sent = params.getAll('convoIds').flatMap(value => value.split(','))
  const ids = [...new Set(sent.map(id => id.trim()).filter(id => id !== ''))]
  if (ids.length === 0) note('convoIds names no conversation')
  if (ids.length > MAX_IDS) note(`convoIds names ${ids.length} conversations; at most ${MAX_IDS} are allowed`)
  return ids
}
