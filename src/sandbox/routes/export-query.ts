// Parses and validates the query of an export request (API document, sections 4.12 and 8).
import { z } from 'zod'
import { SECOND } from '../../core/time.ts'
import type { Answer } from './answer.ts'
import { invalidQuery, readQuery } from './input.ts'

export interface ExportQuery {
  format: 'json' | 'csv'
  sort: 'asc' | 'desc'
  /** Text as sent, for the echoed `query`. */
  fromTs: number | null
  toTs: number | null
  /** Inclusive bounds in ms; 0 and infinity if omitted. */
  fromMs: number
  toMs: number
  limit: number
  cursor: string | undefined
  /** The selected IDs without duplicates; undefined in paginated mode. */
  convoIds: string[] | undefined
}

/** Limit for a paid workspace; others cannot export. */
const MAX_LIMIT = 100
const MAX_IDS = 500

export const ExportParams = z.object({
  limit: z.int().min(1).max(MAX_LIMIT).default(20),
  sort: z.enum(['desc', 'asc']).default('desc'),
  fromTs: z.int().min(0).optional(),
  toTs: z.int().min(0).optional(),
  cursor: z.string().optional(),
  convoIds: z.string().optional(),
  format: z.enum(['json', 'csv']).default('json'),
})

/** Smaller bounds are in seconds, others in milliseconds; bounds of `BEYOND_TIME` or more are invalid. */
const FIRST_MS = 1e11
const BEYOND_TIME = 1e14

export function parseExportQuery(params: URLSearchParams): { query: ExportQuery } | { refused: Answer } {
  const read = readQuery(ExportParams, params)
  if ('refused' in read) return read
  const { fromTs = null, toTs = null, ...others } = read.value
  const convoIds = params.has('convoIds') ? selectedIds(params) : undefined
  const issues = [
    ...((fromTs ?? 0) < BEYOND_TIME && (toTs ?? 0) < BEYOND_TIME
      ? []
      : ['fromTs and toTs are seconds or milliseconds']),
    ...(convoIds === undefined ? [] : idIssues(convoIds)),
  ]
  if (issues.length > 0) return { refused: invalidQuery(issues) }
  const fromMs = fromTs === null ? 0 : inMs(fromTs)
  const toMs = toTs === null ? Number.POSITIVE_INFINITY : lastMsOf(toTs)
  return { query: { ...others, cursor: others.cursor, fromTs, toTs, fromMs, toMs, convoIds } }
}

const inMs = (bound: number): number => (bound < FIRST_MS ? bound * SECOND : bound)

/** Returns the last ms of a bound. Seconds count in full: both ends are inclusive, so adjacent windows leave no gap. */
const lastMsOf = (bound: number): number => (bound < FIRST_MS ? inMs(bound) + SECOND - 1 : bound)

/** Parses ids. Some clients repeat the parameter instead of separating the ids by commas. */
function selectedIds(params: URLSearchParams): string[] {
  const sent = params.getAll('convoIds').flatMap(value => value.split(','))
  return [...new Set(sent.map(id => id.trim()).filter(id => id !== ''))]
}

function idIssues({ length }: readonly string[]): string[] {
  if (length === 0) return ['convoIds names no conversation']
  return length > MAX_IDS ? [`convoIds names ${length} conversations; at most ${MAX_IDS} are allowed`] : []
}
