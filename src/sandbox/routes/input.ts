// Reads query parameters and JSON bodies, and checks them against the schemas of the route.

import { z } from 'zod'
import { issueTexts } from '../rates.ts'
import { type Answer, fault } from './answer.ts'

export const invalidQuery = (issues: string[]): Answer => fault(400, 'Invalid query', { issues })

/**
 * Returns the parameters' values, or the answer 400 with an issue for each problem. An empty text counts as omitted; of
 * a repeated parameter the first value counts.
 */
export function readQuery<S extends z.ZodObject>(
  schema: S,
  params: URLSearchParams,
): { value: z.output<S> } | { refused: Answer } {
  const sent = Object.entries(schema.shape).flatMap(([name, type]) => {
    const text = params.get(name)
    if (text === null || (text === '' && !isNumber(type))) return []
    return [[name, isNumber(type) && /^-?\d{1,15}$/.test(text) ? Number(text) : text]]
  })
  const read = schema.safeParse(Object.fromEntries(sent))
  return read.success ? { value: read.data } : { refused: invalidQuery(issueTexts(read.error)) }
}

function isNumber(type: unknown): boolean {
  const inner = type instanceof z.ZodOptional || type instanceof z.ZodDefault ? type.unwrap() : type
  return inner instanceof z.ZodNumber
}

/** Returns the body's value, or the answer 400 with an issue for each problem. Drops unknown fields. */
export function readBody<S extends z.ZodType>(schema: S, text: string): { value: z.output<S> } | { refused: Answer } {
  const refused = (issues: string[]) => ({ refused: fault(400, 'Invalid body', { issues }) })
  let sent: unknown
  try {
    sent = JSON.parse(text)
  } catch {
    return refused(['the body is not JSON'])
  }
  const read = schema.safeParse(sent)
  return read.success ? { value: read.data } : refused(issueTexts(read.error))
}

// Readings for page-numbered lists of agents and teams. The API document shows their answers but no query parameters
// (sections 4.14 and 4.16), so these come from the notes on the API and the readings.

/** Position of a page in its list; pages count from 1. */
export interface ListPlace {
  page: number
  limit: number
}

/** Parameters of such a list. */
export const PAGE_QUERY = {
  page: z.int().min(1).max(1_000_000).default(1),
  limit: z.int().min(1).max(100).default(50),
}

/** Returns the values of the parameters, or the answer that refuses them. A page has at most `most` elements. */
export function readList<S extends z.ZodObject>(
  schema: S,
  params: URLSearchParams,
  most: number,
): { value: z.output<S> & ListPlace } | { refused: Answer } {
  const read = readQuery(schema, params)
  if ('refused' in read) return read
  const place = read.value as z.output<S> & ListPlace
  return { value: { ...place, limit: Math.min(place.limit, most) } }
}

export const onPage = <T>(list: readonly T[], { page, limit }: ListPlace): T[] =>
  list.slice((page - 1) * limit, page * limit)

export const hasMoreAfter = (length: number, { page, limit }: ListPlace): boolean => page * limit < length
