// Errors of `serve` in HTTP: a status for each code, and one JSON body, as OpenAPI describes it.
import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { ConvohouseError } from '../../core/errors.ts'
import { statusOf } from '../../warehouse/query/http/protocol.ts'

export const problem = z
  .object({
    error: z.object({
      code: z.string().openapi({ example: 'SQL_INVALID', description: 'Stable: docs/errors.md lists all codes' }),
      what: z.string(),
      hint: z.string().optional(),
    }),
  })
  .openapi('Problem')

const STATUSES = {
  400: 'The request is not as described, or DuckDB cannot run the SQL',
  401: 'No valid token: renew it, or sign in again',
  403: 'Not allowed with this token, of this SQL, or for this host',
  404: 'There is no such thing',
  406: 'There is no such format',
  413: 'The request is too large',
  429: 'Too many requests: wait as long as Retry-After says',
  500: 'An error of convohouse',
  503: 'Not now: try again later',
  504: 'The SQL ran longer than its timeout',
  507: 'The SQL took too much memory',
} as const

type Status = keyof typeof STATUSES

/** The answers to failed requests, for OpenAPI. */
export const PROBLEMS = Object.fromEntries(
  Object.entries(STATUSES).map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: problem } } },
  ]),
)

/** Answers with an error. An unknown one is not shown, since its message may quote data. */
export function sendProblem(c: Context, error: unknown): Response {
  if (!(error instanceof ConvohouseError)) {
    const what = 'The request failed because of a bug in convohouse.'
    return c.json({ error: { code: 'UNEXPECTED', what, hint: 'Please report it.' } }, 500)
  }
  const { code, message: what, hint, facts } = error
  const status = statusOf(error) as Status
  if (status === 401) c.header('WWW-Authenticate', 'Bearer realm="convohouse"')
  if (status === 429 || status === 503) c.header('Retry-After', String(facts.retryAfterSeconds ?? 1))
  return c.json({ error: { code, what, hint } }, status)
}

/** Returns the error of a request that is not as described. */
export const invalidRequest = (what: string, status: Status = 400): ConvohouseError =>
  new ConvohouseError('REQUEST_INVALID', { what, hint: '`/openapi.json` describes every request.', facts: { status } })
