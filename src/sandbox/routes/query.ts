// Query parameters, checked against the schema of the route.
import { z } from 'zod'
import { issueTexts } from '../rates.ts'
import type { Answer } from './answer.ts'
import { invalidQuery } from './list-page.ts'

export const NO_QUERY = z.object({})

/**
 * The parameters' values, or the answer 400 with an issue for each problem. An empty text counts as absent; of a repeated parameter
 * the first value counts.
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
