// A route whose JSON comes from the snapshot, with as-of. That of a GET has an ETag: it depends on the snapshot, the URL and the token's scopes.
import { createHash, randomUUID } from 'node:crypto'
import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Scope } from '../access/tokens.ts'
import type { SnapshotReaders, SnapshotState } from '../readers/snapshot-readers.ts'
import { needs, type Routes, type ServeEnv } from './app.ts'
import { PROBLEMS } from './problem.ts'

export const AS_OF_HEADER = 'Convohouse-As-Of'

interface SnapshotRoute<Given extends z.ZodObject> {
  path: string
  summary: string
  description?: string
  /** Any of these scopes is enough. */
  scopes: readonly Scope[]
  /** Where the parameters are, and what they are. A route with `json` is a POST. */
  in: 'query' | 'param' | 'json'
  given: Given
  /** The fields of the answer besides `asOf`. */
  answer: z.ZodRawShape
}

/** A restart may bring other definitions, settings or code. */
const STARTED = randomUUID()

function tagOf({ version }: SnapshotState, c: Context<ServeEnv>): string {
  const seen = JSON.stringify([STARTED, version, [...c.get('principal').scopes].sort()])
  return `"${createHash('sha256').update(seen).digest('base64url').slice(0, 22)}"`
}

/** True if the client holds the answer with this ETag. */
export const isHeld = (c: Context<ServeEnv>, held: string): boolean =>
  (c.req.header('if-none-match') ?? '').split(/, */).some(tag => tag.replace(/^W\//, '') === held)

/** A row, or an object whose fields other places describe. */
export const record = z.record(z.string(), z.unknown())

/** A parameter of a GET that may be repeated, as a list. */
export const choice = z
  .union([z.string().max(1_000), z.array(z.string().max(1_000)).max(1_000)])
  .transform(given => [given].flat())
  .optional()
  .openapi({
    type: 'array',
    items: { type: 'string' },
    description: 'May be repeated. An agent may be WORKSPACE/AGENT',
  })

const requestOf = (place: 'query' | 'param' | 'json', given: z.ZodObject) => {
  if (place === 'query') return { query: given }
  if (place === 'param') return { params: given }
  return { body: { content: { 'application/json': { schema: given } }, required: true } }
}

/** Adds the route. `work` returns the fields of the answer, and the state that they are from. */
export const snapshotRoute =
  <Given extends z.ZodObject>(
    readers: SnapshotReaders,
    { in: place, given, answer, scopes, ...route }: SnapshotRoute<Given>,
    work: (given: z.output<Given>, scopes: ReadonlySet<Scope>) => Promise<SnapshotState>,
  ): Routes =>
  app => {
    const schema = z.object({ ...answer, asOf: z.iso.datetime() })
    const described = createRoute({
      ...route,
      method: place === 'json' ? 'post' : 'get',
      middleware: [needs(...scopes)] as const,
      request: requestOf(place, given),
      responses: {
        200: { description: 'The answer', content: { 'application/json': { schema } } },
        304: { description: 'Unchanged' },
        ...PROBLEMS,
      },
    })
    app.openapi(described, async c => {
      const send = (state: SnapshotState, fields: object | null) => {
        if (place !== 'json') c.header('ETag', tagOf(state, c))
        c.header('Vary', 'Authorization, Cookie')
        c.header(AS_OF_HEADER, state.asOf)
        return (fields ? c.json(fields) : c.body(null, 304)) as never
      }
      const held = readers.state()
      if (place !== 'json' && isHeld(c, tagOf(held, c))) return send(held, null)
      const answered = await work(c.req.valid(place as never) as z.output<Given>, c.get('principal').scopes)
      const { version: _, ...fields } = answered
      return send(answered, fields)
    })
  }
