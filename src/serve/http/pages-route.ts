// `GET /v1/pages`: the pages of the dashboard. They do not depend on the snapshot.
import { createRoute, z } from '@hono/zod-openapi'
import type { Pages } from '../pages.ts'
import { needs, type Routes } from './app.ts'
import { PROBLEMS } from './problem.ts'
import { isHeld } from './snapshot-route.ts'

const answer = z
  .object({
    pages: z
      .array(z.looseObject({ name: z.string(), title: z.string(), isOwn: z.boolean(), tiles: z.array(z.unknown()) }))
      .openapi({ description: 'As their YAML declares them, with defaults. Each tile has its `kind`' }),
    problems: z.array(z.string()).openapi({ description: 'Why pages of the user cannot be used' }),
  })
  .openapi('Pages')

const route = createRoute({
  method: 'get',
  path: '/v1/pages',
  summary: 'List the pages of the dashboard',
  middleware: [needs('metrics')] as const,
  responses: {
    200: { description: 'The pages', content: { 'application/json': { schema: answer } } },
    304: { description: 'Unchanged' },
    ...PROBLEMS,
  },
})

export const pagesRoute =
  (pages: Pages): Routes =>
  app => {
    app.openapi(route, async c => {
      const { tag, ...fields } = await pages.all()
      c.header('ETag', `"${tag}"`)
      return (isHeld(c, `"${tag}"`) ? c.body(null, 304) : c.json(fields, 200)) as never
    })
  }
