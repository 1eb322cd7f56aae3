// The HTTP application: rules for every request, then the routes.
//
//   request ──▶ host and origin ──▶ rate ──▶ size ──▶ token or session ──▶ scope ──▶ route
import type { ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { OpenAPIHono } from '@hono/zod-openapi'
import { bodyLimit } from 'hono/body-limit'
import { getCookie } from 'hono/cookie'
import { HTTPException } from 'hono/http-exception'
import type { MiddlewareHandler } from 'hono/types'
import { ConvohouseError } from '../../core/errors.ts'
import type { Access, Principal } from '../access/authenticate.ts'
import { type RateLimitSettings, rateLimit } from '../access/rate-limit.ts'
import { isForwarded, refusalOf } from '../access/request-rules.ts'
import { SESSION_COOKIE } from '../access/sessions.ts'
import type { Scope } from '../access/tokens.ts'
import { invalidRequest, sendProblem } from './problem.ts'

export interface ServeEnv {
  Bindings: HttpBindings
  Variables: { principal: Principal }
}

export type ServeApp = OpenAPIHono<ServeEnv>

/** Adds routes to the application. */
export type Routes = (app: ServeApp) => void

export interface AppOptions {
  access: Access
  /** The address that `serve` listens at, and the names under which it is reached. */
  listensAt: string
  hosts: readonly string[]
  /** Path below which all routes are, such as `/convohouse`; empty for none. */
  basePath: string
  version: string
  rate?: RateLimitSettings
  now: () => number
}

/** Limit of one token. A page of a dashboard sends a few requests at once. */
const RATE = { burst: 240, perSecond: 40 }

/** Clients behind a proxy share an address. */
const TOKENS_AN_ADDRESS = 8

/** The guard refuses longer SQL anyway. */
const MAX_BODY_BYTES = 1_048_576

const HEADERS = {
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** @throws SCOPE_MISSING if none of the scopes is held */
export function expectScope(held: ReadonlySet<Scope>, scopes: readonly Scope[]): void {
  if (scopes.some(scope => held.has(scope))) return
  throw new ConvohouseError('SCOPE_MISSING', {
    what: `This needs a token with the scope ${scopes.join(' or ')}.`,
    hint: `\`convohouse token create NAME --scope ${scopes[0]}\` creates one.`,
  })
}

/** Refuses tokens that have none of these scopes. */
export const needs =
  (...scopes: readonly Scope[]): MiddlewareHandler<ServeEnv> =>
  (c, next) => {
    expectScope(c.get('principal').scopes, scopes)
    return next()
  }

/** Checks everything about a request but its token. */
function ruled({ listensAt, hosts, rate, now }: Required<AppOptions>): MiddlewareHandler<ServeEnv> {
  const { burst, perSecond } = rate
  const limit = rateLimit({ burst: burst * TOKENS_AN_ADDRESS, perSecond: perSecond * TOKENS_AN_ADDRESS }, now)
  return async (c, next) => {
    const { incoming, outgoing } = c.env
    // Not in hono's response, since the answer of a query is written without it.
    for (const [name, value] of Object.entries(HEADERS)) (outgoing as ServerResponse).setHeader(name, value)
    const what = refusalOf(incoming.headers, c.req.method, { listensAt, hosts })
    if (what !== null)
      throw new ConvohouseError('REQUEST_REFUSED', {
        what,
        hint: 'If it is a name of this server, add it to `serve.hosts` in the configuration.',
      })
    limit(incoming.socket.remoteAddress ?? '')
    await next()
  }
}

function authenticated({ access, rate, now }: Required<AppOptions>): MiddlewareHandler<ServeEnv> {
  const limit = rateLimit(rate, now)
  return async (c, next) => {
    const { headers, socket } = c.env.incoming
    const principal = await access.principalOf({
      authorization: c.req.header('authorization'),
      session: getCookie(c, SESSION_COOKIE),
      remoteAddress: socket.remoteAddress,
      isForwarded: isForwarded(headers),
    })
    limit(principal.token ?? '')
    c.set('principal', principal)
    await next()
  }
}

/** Creates the application. `open`: routes that need no token. */
export function createApp(options: AppOptions, open: readonly Routes[], routes: readonly Routes[]): ServeApp {
  const { basePath, version } = options
  const rules = { rate: RATE, ...options }
  const app: ServeApp = new OpenAPIHono<ServeEnv>({
    defaultHook(result) {
      if (result.success) return
      const problems = result.error.issues.map(({ path, message }) =>
        [path.map(String).join('.'), message].filter(Boolean).join(': '),
      )
      throw invalidRequest(problems.join('; '))
    },
  }).basePath(basePath)
  app.onError((error, c) =>
    sendProblem(c, isMalformed(error) ? invalidRequest('The body is not application/json.') : error),
  )
  app.notFound(c => sendProblem(c, invalidRequest(`There is nothing at ${c.req.method} ${c.req.path}.`, 404)))
  app.use(ruled(rules))
  const onError = () => {
    throw invalidRequest(`The request is larger than ${MAX_BODY_BYTES} bytes.`, 413)
  }
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError }))
  for (const add of open) add(app)
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  app.doc31('/openapi.json', {
    openapi: '3.1.0',
    info: { title: 'convohouse', version, description: 'Figures, SQL and conversations of a published snapshot.' },
    security: [{ token: [] }],
  })
  app.use(authenticated(rules))
  for (const add of routes) add(app)
  return app
}

/** True for hono's error of a body that is not JSON, or of another media type. */
const isMalformed = (error: Error): boolean => error instanceof HTTPException && error.status < 500
