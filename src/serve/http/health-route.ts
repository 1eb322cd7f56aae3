// `GET /v1/health`: the state of syncs, quota, checks and targets, and how old the snapshot is. No record is in it.
import { createRoute, z } from '@hono/zod-openapi'
import { SECOND } from '../../core/time.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { needs, type Routes } from './app.ts'
import { PROBLEMS } from './problem.ts'

const health = z
  .object({
    asOf: z.iso.datetime().openapi({ description: 'The snapshot is as fresh as the warehouse was then' }),
    ageSeconds: z.number(),
    pipeline: z.record(z.string(), z.unknown()).nullable().openapi({
      description:
        'As `convohouse status --json` prints it, with codes of errors but not their texts; null if it cannot be read now',
    }),
  })
  .openapi('Health')

const route = createRoute({
  method: 'get',
  path: '/v1/health',
  summary: 'Show the state of the pipeline',
  middleware: [needs('health')] as const,
  responses: { 200: { description: 'The state', content: { 'application/json': { schema: health } } }, ...PROBLEMS },
})

/**
 * Keys of `status --json` that the route leaves out, since their values may quote a record, SQL or a place of the server's machine.
 * Codes of errors stay.
 */
export const HIDDEN_KEYS = [
  'examples',
  'error',
  'what',
  'hint',
  'unfit',
  'definition',
  'columns',
  'home',
  'place',
] as const

/** `pipeline` costs a process of its own, so that its result is used for this time. */
const KEPT_MS = 30 * SECOND

export function healthRoute(
  readers: SnapshotReaders,
  pipeline: () => Promise<Record<string, unknown> | null>,
  now: () => number,
): Routes {
  let last: { atMs: number; result: ReturnType<typeof pipeline> } | null = null
  return app => {
    app.openapi(route, async c => {
      if (last === null || now() - last.atMs > KEPT_MS) last = { atMs: now(), result: pipeline() }
      const { asOf } = readers.state()
      const ageSeconds = Math.round((now() - Date.parse(asOf)) / SECOND)
      return c.json({ asOf, ageSeconds, pipeline: await last.result }, 200)
    })
  }
}
