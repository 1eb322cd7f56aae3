// `GET /v1/metrics` and `POST /v1/metrics/query`: the declared figures.
import { createRoute, z } from '@hono/zod-openapi'
import { type DeclaredMetrics, metricsQueries } from '../declared-metrics.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { needs, type Routes } from './app.ts'
import { PROBLEMS } from './problem.ts'
import { AS_OF_HEADER, snapshotRoute } from './snapshot-route.ts'

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
  (readers: SnapshotReaders, metrics: DeclaredMetrics): Routes =>
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
      request: { body: { content: { 'application/json': { schema: metricsQueries } }, required: true } },
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
