// `GET /v1/metrics` and `POST /v1/metrics/query`: the declared figures.
import { createRoute, z } from '@hono/zod-openapi'
import type { Scope } from '../access/tokens.ts'
import type { SnapshotReaders, SnapshotState } from '../readers/snapshot-readers.ts'
import { needs, type Routes } from './app.ts'
import { PROBLEMS } from './problem.ts'
import { AS_OF_HEADER, snapshotRoute } from './snapshot-route.ts'

/** The figures, as these routes see them. */
export interface MetricsPort {
  /** Describes the body of a request. */
  request: z.ZodType
  /** Describes all metrics. */
  list(scopes: ReadonlySet<Scope>): object[]
  /** Answers a request of the described form. @throws METRIC_UNKNOWN, METRIC_INVALID */
  answer(
    readers: SnapshotReaders,
    request: unknown,
    scopes: ReadonlySet<Scope>,
  ): Promise<{ answer: object; state: SnapshotState }>
}

const any = z.record(z.string(), z.unknown())

const LIST = {
  path: '/v1/metrics',
  summary: 'List the declared figures, with their definitions',
  scopes: ['metrics'],
  in: 'query',
  given: z.object({}),
  answer: { metrics: z.array(any) },
} as const

export const metricsRoutes =
  (readers: SnapshotReaders, metrics: MetricsPort): Routes =>
  app => {
    snapshotRoute(readers, LIST, async (_, scopes) => ({
      fields: { metrics: metrics.list(scopes) },
      state: readers.state(),
    }))(app)
    const asked = createRoute({
      method: 'post',
      path: '/v1/metrics/query',
      summary: 'Answer declared figures, many in one request',
      middleware: [needs('metrics')] as const,
      request: { body: { content: { 'application/json': { schema: metrics.request } }, required: true } },
      responses: {
        200: { description: 'The figures', content: { 'application/json': { schema: any } } },
        ...PROBLEMS,
      },
    })
    app.openapi(asked, async c => {
      const { answer: fields, state } = await metrics.answer(readers, c.req.valid('json'), c.get('principal').scopes)
      c.header(AS_OF_HEADER, state.asOf)
      return c.json({ ...fields, asOf: state.asOf }, 200)
    })
  }
