// `/v1/session`: a browser exchanges a token once for a cookie that scripts cannot read, asks what it may see, and signs out.
import { createRoute, z } from '@hono/zod-openapi'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { SECOND } from '../../core/time.ts'
import type { Access } from '../access/authenticate.ts'
import { LONGEST_SESSION_MS, SESSION_COOKIE, type Sessions } from '../access/sessions.ts'
import { SCOPES } from '../access/tokens.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { martRows } from '../tables.ts'
import type { Routes } from './app.ts'
import { PROBLEMS } from './problem.ts'

const body = { content: { 'application/json': { schema: z.strictObject({ token: z.string().max(200) }) } } }

const signIn = createRoute({
  ...{ method: 'post', path: '/v1/session', summary: 'Exchange a token for a session in a cookie', security: [] },
  request: { body: { ...body, required: true } },
  responses: { 204: { description: 'Signed in' }, ...PROBLEMS },
})

const signOut = createRoute({
  ...{ method: 'delete', path: '/v1/session', summary: 'Sign out', security: [] },
  responses: { 204: { description: 'Signed out' }, ...PROBLEMS },
})

const session = z
  .object({
    token: z.string().nullable().openapi({ description: 'Name of the token; null if none is needed' }),
    scopes: z.array(z.enum(SCOPES)),
    timeZones: z.array(z.string()).openapi({ description: 'Time zones of the days of the workspaces in the snapshot' }),
  })
  .openapi('Session')

export type Session = z.infer<typeof session>

const show = createRoute({
  ...{ method: 'get', path: '/v1/session', summary: 'Show the name and the scopes of the token' },
  responses: { 200: { description: 'The session', content: { 'application/json': { schema: session } } }, ...PROBLEMS },
})

const ZONES = 'SELECT DISTINCT time_zone AS zone FROM marts.dim_agents ORDER BY zone'

/** Any token may ask. */
export const sessionRoute =
  (readers: SnapshotReaders): Routes =>
  app => {
    app.openapi(show, async c => {
      const { token, scopes } = c.get('principal')
      const zones = await readers.reading(query => martRows<{ zone: string }>(query, 'dim_agents', ZONES))
      return c.json({ token, scopes: [...scopes], timeZones: zones.map(({ zone }) => zone) }, 200)
    })
  }

export const sessionRoutes =
  (options: { access: Access; sessions: Sessions; basePath: string }): Routes =>
  app => {
    const { access, sessions, basePath } = options
    const path = basePath || '/'
    app.openapi(signIn, async c => {
      const id = await access.signIn(c.req.valid('json').token)
      const secure = c.req.header('x-forwarded-proto') === 'https'
      const maxAge = LONGEST_SESSION_MS / SECOND
      setCookie(c, SESSION_COOKIE, id, { httpOnly: true, sameSite: 'Strict', path, maxAge, secure })
      return c.body(null, 204)
    })
    app.openapi(signOut, c => {
      sessions.end(getCookie(c, SESSION_COOKIE) ?? '')
      deleteCookie(c, SESSION_COOKIE, { path })
      return c.body(null, 204)
    })
  }
