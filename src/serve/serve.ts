// `serve`: the snapshot's readers, access and routes, behind one HTTP server.
import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { listenAt, urlOf } from '../config/address.ts'
import type { ServeConfig } from '../config/serve.ts'
import { SECOND } from '../core/time.ts'
import type { AccessTokens } from '../landing/access-tokens.ts'
import { Access } from './access/authenticate.ts'
import type { RateLimitSettings } from './access/rate-limit.ts'
import { Sessions } from './access/sessions.ts'
import type { ColumnClasses } from './column-classes.ts'
import type { DeclaredMetrics } from './declared-metrics.ts'
import { agentChangesRoute } from './http/agent-changes-route.ts'
import { createApp, type Routes } from './http/app.ts'
import { conversationsRoutes } from './http/conversations-routes.ts'
import { healthRoute } from './http/health-route.ts'
import { metricsRoutes } from './http/metrics-routes.ts'
import { organizationsRoute } from './http/organizations-route.ts'
import { pagesRoute } from './http/pages-route.ts'
import { queryRoute } from './http/query-route.ts'
import { quotaRoute } from './http/quota-route.ts'
import { sessionRoute, sessionRoutes } from './http/session-routes.ts'
import { tablesRoute } from './http/tables-route.ts'
import { webRoutes } from './http/web-routes.ts'
import { mcpRoute } from './mcp/mcp-route.ts'
import type { Pages } from './pages.ts'
import type { SnapshotReaders } from './readers/snapshot-readers.ts'

export interface ServeOptions {
  settings: Pick<ServeConfig, 'address' | 'hosts' | 'basePath'>
  tokens: AccessTokens
  readers: SnapshotReaders
  classes: ColumnClasses
  metrics: DeclaredMetrics
  pages: Pages
  /** Returns the state of the pipeline, as `status --json` prints it; null if it cannot be read. */
  pipeline: () => Promise<Record<string, unknown> | null>
  version: string
  /** Folder of the built dashboard. */
  web: string
  rate?: RateLimitSettings
  /** Time after which a client that takes nothing of its answer is cut off. */
  stalledMs?: number
  now?: () => number
}

export interface RunningServe {
  /** URL without a trailing slash, with the base path. */
  url: string
  port: number
  /** Accepts no further requests, and resolves when the running ones are answered, at the latest after `ms`. */
  closeWithin(ms: number): Promise<void>
}

const TEXTS = {
  taken: 'figures cannot be served',
  takenHint:
    '`ss -ltnp` shows which one: stop it, or give `serve` another `address` (`--address`); port 0 takes a free one.',
  refused: 'Figures cannot be served at',
  refusedHint: 'Give a host of this machine and a port that this user may open (`--address 127.0.0.1:8790`).',
}

const LIMITS = {
  headersTimeout: 10 * SECOND,
  requestTimeout: 30 * SECOND,
  connectionsCheckingInterval: SECOND,
  keepAliveTimeout: 65 * SECOND,
  maxHeaderSize: 16 * 1024,
}

const MOST_CONNECTIONS = 1_000

function cutStalled(server: Server, stalledMs: number): void {
  server.on('connection', socket => {
    let sentBefore = 0
    const timer = setInterval(() => {
      if (socket.writableLength > 0 && socket.bytesWritten === sentBefore) socket.destroy()
      sentBefore = socket.bytesWritten
    }, stalledMs).unref()
    socket.once('close', () => clearInterval(timer))
  })
}

/** Says only that the process answers. */
const liveness: Routes = app => void app.get('/health', c => c.text('ok\n'))

/** @throws ADDRESS_IN_USE; CONFIG_INVALID if it cannot listen at the address */
export async function startServe(options: ServeOptions): Promise<RunningServe> {
  const { settings, tokens, readers, classes, metrics, pages, pipeline, now = Date.now } = options
  const { stalledMs = 30 * SECOND } = options
  const { address, basePath } = settings
  const sessions = new Sessions()
  const access = new Access({ tokens, sessions, listensAt: address.host, now })
  const app = createApp(
    { ...options, ...settings, access, listensAt: address.host, now },
    [liveness, sessionRoutes({ access, sessions, basePath }), webRoutes({ folder: options.web, basePath })],
    [
      queryRoute(readers),
      tablesRoute(readers, classes),
      metricsRoutes(readers, metrics),
      pagesRoute(pages),
      sessionRoute(readers),
      agentChangesRoute(readers),
      quotaRoute(readers),
      organizationsRoute(readers),
      conversationsRoutes(readers, metrics),
      healthRoute(readers, pipeline, now),
      mcpRoute({ readers, metrics, classes, version: options.version }),
    ],
  )
  const server = createServer(LIMITS, getRequestListener(app.fetch))
  server.maxConnections = MOST_CONNECTIONS
  cutStalled(server, stalledMs)
  const at = await listenAt(server, address, TEXTS)
  return {
    url: `${urlOf(at)}${basePath}`,
    port: at.port,
    async closeWithin(ms) {
      const timer = setTimeout(() => server.closeAllConnections(), ms)
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      await new Promise<void>(resolve => server.close(() => resolve()))
      clearTimeout(timer)
      clearInterval(idle)
    },
  }
}
