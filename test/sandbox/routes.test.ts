import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { NO_QUERY } from '../../src/sandbox/routes/query.ts'
import { createMatcher, type Route } from '../../src/sandbox/routes/route.ts'
import { ROUTES } from '../../src/sandbox/routes/route-table.ts'

const route = (method: Route['method'], path: string): Route => ({
  method,
  path,
  kind: 'other',
  faultKind: 'search',
  operation: 'find',
  summary: 'Find',
  query: NO_QUERY,
  response: z.unknown(),
  answer: () => ({ status: 204, contentType: 'text/plain', body: '' }),
})

const match = createMatcher([
  route('GET', '/v3/things/{thingId}'),
  route('DELETE', '/v3/things/{thingId}'),
  route('GET', '/v3/things/{thingId}/parts/{partId}'),
])

describe('a path', () => {
  it('has the routes of its template, and the decoded values of its parameters', () => {
    expect(match('/v3/things/a%2Fb')).toMatchObject({
      routes: [{ method: 'GET' }, { method: 'DELETE' }],
      ids: { thingId: 'a/b' },
    })
    expect(match('/v3/things/%E5%B1%B1/parts/2')?.ids).toEqual({ thingId: '山', partId: '2' })
  })

  it.each(['/v3/things/', '/v3/things/a/', '/v3/things/a/b', '/v3/things/%E0%A4%A', '/v4/things/a'])(
    'has none: %s',
    path => expect(match(path)).toBeUndefined(),
  )
})

describe('the table of routes', () => {
  it('has each method of a path once', () => {
    const names = ROUTES.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it('has one template for a path', () => {
    const all = createMatcher(ROUTES)
    for (const { path } of ROUTES)
      expect(all(path.replaceAll(/\{(\w+)\}/g, 'x'))?.routes.map(found => found.path)).toContain(path)
  })
})
