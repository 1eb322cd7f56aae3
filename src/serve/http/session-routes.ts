// `/v1/session`: a browser exchanges a token once for a cookie that scripts cannot read, and signs out.
import { createRoute, z } from '@hono/zod-openapi'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { SECOND } from '../../core/time.ts'
import type { Access } from '../access/authenticate.ts'
import { LONGEST_SESSION_MS, SESSION_COOKIE, type Sessions } from '../access/sessions.ts'
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
