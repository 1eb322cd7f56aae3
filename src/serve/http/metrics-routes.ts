// `GET /v1/metrics` and `POST /v1/metrics/query`: the declared figures.
import { z } from '@hono/zod-openapi'
import { queryAnswers } from '../../metrics/answer-format.ts'
import { type DeclaredMetrics, metricsQueries } from '../declared-metrics.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import type { Routes } from './app.ts'
import { problem } from './problem.ts'
import { record, snapshotRoute } from './snapshot-route.ts'

const LIST = {
  path: '/v1/metrics',
  summary: 'List the declared figures, with their definitions',
  scopes: ['metrics'],
  in: 'query',
  given: z.object({}),
  answer: { metrics: z.array(record) },
} as const

const QUERY = {
  path: '/v1/metrics/query',
  summary: 'Answer declared figures, many in one request',
  scopes: ['metrics'],
  in: 'json',
  given: metricsQueries,
  answer: { answers: z.array(z.union([...queryAnswers, problem])) },
} as const

export const metricsRoutes =
  (readers: SnapshotReaders, metrics: DeclaredMetrics): Routes =>
  app => {
    const list = snapshotRoute(readers, LIST, async (_, scopes) => ({
      metrics: metrics.list(scopes),
      ...readers.state(),
    }))
    list(app)
    snapshotRoute(readers, QUERY, (given, scopes) => metrics.answer(readers, given, scopes))(app)
  }
