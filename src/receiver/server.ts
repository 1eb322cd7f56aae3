// The receiver's HTTP server. Before it answers, an event is only verified and appended.
//
//   request ──▶ limits ──▶ body ──▶ intake (verify, append, sync) ──▶ 200, empty

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { listenAt, urlOf } from '../config/address.ts'
import { Slots } from '../core/slots.ts'
import { decodeBody, mayBeEncoded } from '../files/content-encoding.ts'
import type { MetricsPage } from '../telemetry/page.ts'
import { Bodies, type ReadBody } from './bodies.ts'
import type { Intake } from './intake.ts'
import type { ReceiverMetrics } from './metrics.ts'
import { type IntakeResult, REFUSALS, type Refusal } from './refusals.ts'

type Route =
  | { kind: 'webhook'; addressed: string | null }
  | { kind: 'health' | 'ready' | 'metrics' }
  | { kind: 'refused'; reason: Refusal; allow?: string }

const PAGES = { '/health': 'health', '/ready': 'ready', '/metrics': 'metrics' } as const

const isPage = (path: string): path is keyof typeof PAGES => Object.hasOwn(PAGES, path)

/** Returns the workspace in `/webhooks/<workspace>`; null for `/webhooks`; undefined for any other path. */
function addressedBy(path: string): string | null | undefined {
  if (path === '/webhooks' || path === '/webhooks/') return null
  const [, encoded] = /^\/webhooks\/([^/]+)\/?$/.exec(path) ?? []
  try {
    return encoded && decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/** The route of nearly all requests, allocated once. */
const WEBHOOKS: Route = { kind: 'webhook', addressed: null }

function routeOf(method: string, target: string): Route {
  if (target === '/webhooks' && method === 'POST') return WEBHOOKS
  const [path] = target.split('?') as [string]
  if (isPage(path)) {
    return method === 'GET' || method === 'HEAD'
      ? { kind: PAGES[path] }
      : { kind: 'refused', reason: 'wrong-method', allow: 'GET, HEAD' }
  }
  const addressed = addressedBy(path)
  if (addressed === undefined) return { kind: 'refused', reason: 'not-found' }
  return method === 'POST' ? { kind: 'webhook', addressed } : { kind: 'refused', reason: 'wrong-method', allow: 'POST' }
}

export interface ReceiverOptions {
  host: string
  port: number
  maxBodyBytes: number
  maxConnections: number
  intake: Intake
  metrics: ReceiverMetrics
  /** Called for each refusal, with the workspace to which it is attributed; null if unknown. */
  onRefused?: (reason: Refusal, workspaceId: string | null) => void
  /** The page for `GET /metrics`: the receiver's metrics and all others of this process. */
  page: MetricsPage
  /** Time limits for the head of a request and for the complete request, ms. */
  headMs?: number
  requestMs?: number
}

export interface Receiver {
  /** URL without a trailing slash. */
  url: string
  port: number
  /** Accepts no further requests, answers pending ones, and resolves when all events are durable and sealed. */
  close(): Promise<void>
  /** Closes all connections at once. */
  abort(): void
}

interface Way {
  response: ServerResponse
  /** The workspace in the address, if any. */
  addressed: string | null
  /** Sends `100 Continue` to a sender that has asked for it. */
  proceed: (() => void) | undefined
}

interface Begun extends Pick<Way, 'response' | 'addressed'> {
  request: IncomingMessage
  begunMs: number
}

const BODIES_AT_ONCE_BYTES = 64 * 1024 * 1024
/** A compressed body may grow to the first, or by the second: no event shrinks more, but anyone's hundred bytes may become megabytes. */
const PLAIN_BYTES = 256 * 1024
const MOST_RATIO = 100
/** Interval at which a failing disk is tested. */
const PROBE_MS = 1_000
/** Time for which the rest of an oversized request is still read, because a sender that is cut off would not read the answer. */
const LINGER_MS = 2_000

class Service {
  private readonly options: ReceiverOptions
  private readonly bodies: Bodies
  private readonly connections = new Set<Socket>()
  /** Connections without a complete request or a stored event, oldest first. */
  private readonly unproven = new Set<Socket>()
  private isDiskRefusing = false
  private looking: NodeJS.Timeout | undefined
  /** One at a time: small bodies of anyone may decode to large ones. */
  private readonly decoding = new Slots(1)
  isClosing = false

  constructor(options: ReceiverOptions) {
    this.options = options
    this.bodies = new Bodies({ maxBytes: options.maxBodyBytes, maxBytesAtOnce: BODIES_AT_ONCE_BYTES })
  }

  /** Registers a connection. At the limit, it replaces the oldest unproven one, so that slow senders do not lock others out. */
  connect(socket: Socket): void {
    this.connections.add(socket)
    this.unproven.add(socket)
    socket.once('close', () => this.forget(socket))
    if (this.connections.size <= this.options.maxConnections) return
    const [oldest = socket] = this.unproven
    this.forget(oldest)
    oldest.destroy()
    this.count('too-slow', null)
  }

  private forget(socket: Socket): void {
    this.connections.delete(socket)
    this.unproven.delete(socket)
  }

  private count(reason: Refusal, addressed: string | null): void {
    const { metrics, intake, onRefused } = this.options
    const workspaceId = intake.workspaceOf(addressed)
    metrics.refuse(reason, workspaceId)
    onRefused?.(reason, workspaceId)
  }

  serve(request: IncomingMessage, response: ServerResponse, proceed?: () => void): void {
    if (this.isClosing) response.shouldKeepAlive = false
    const route = routeOf(request.method!, request.url!)
    if (route.kind === 'webhook') this.receive(request, { response, addressed: route.addressed, proceed })
    else if (route.kind === 'refused') this.refuse(request, response, route)
    else if (route.kind === 'metrics') this.answerMetrics(response)
    else answer(response, ...this.page(route.kind))
  }

  private answerMetrics(response: ServerResponse): void {
    const { page } = this.options
    page
      .text()
      .then(body => answer(response, 200, { type: page.contentType, body }))
      .catch(() => response.destroy())
  }

  private page(kind: 'health' | 'ready'): [status: number, content: Content] {
    const isReady = kind === 'health' || !(this.isDiskRefusing || this.isClosing)
    return [isReady ? 200 : 503, { type: 'text/plain', body: isReady ? 'ok\n' : 'not ready\n' }]
  }

  private receive(request: IncomingMessage, { response, addressed, proceed }: Way): void {
    const begunMs = performance.now()
    this.options.metrics.begin()
    const { intake } = this.options
    const isRead = this.bodies.read(request, {
      isAuthentic: bytes => intake.isAuthentic(bytes, addressed),
      done: read => this.answer(read, { request, response, addressed, begunMs }),
    })
    if (isRead) proceed?.()
  }

  private async answer(read: ReadBody, begun: Begun): Promise<void> {
    const {
      request: { socket },
      response,
    } = begun
    this.unproven.delete(socket)
    try {
      const result = await this.keep(read, begun)
      if (result !== 'kept' && !socket.destroyed) this.unproven.add(socket)
      this.respond(result, begun)
    } catch {
      response.destroy()
    }
  }

  private async keep(read: ReadBody, begun: Begun): Promise<IntakeResult> {
    if ('refused' in read) return read.refused
    try {
      const result = await this.take(read.body, begun)
      // Only the results of authenticated requests show the state of the disk.
      if (result === 'kept') this.isDiskRefusing = false
      if (result === 'disk-refuses') this.diskRefuses()
      return result
    } finally {
      read.release()
    }
  }

  private async take(body: Buffer, { request: { headers }, addressed }: Begun): Promise<IntakeResult> {
    const { intake, maxBodyBytes } = this.options
    const codings = headers['content-encoding'] ?? ''
    if (!mayBeEncoded(body, codings)) return intake.take(body, addressed)
    const taken = await this.decoding.run(async () => {
      const most = Math.min(maxBodyBytes, Math.max(PLAIN_BYTES, MOST_RATIO * body.length))
      const decoded = await decodeBody(body, codings, most)
      return decoded.isTooLarge ? 'too-large' : intake.take(decoded.part ?? decoded.body, addressed)
    })
    return taken!
  }

  /** Tests the disk until it accepts writes, since a sender that waits for readiness would never send the event that shows it. */
  private diskRefuses(): void {
    this.isDiskRefusing = true
    this.looking ??= setInterval(async () => {
      if (this.isDiskRefusing && (await this.options.intake.canWrite())) this.isDiskRefusing = false
      if (this.isDiskRefusing && !this.isClosing) return
      clearInterval(this.looking)
      this.looking = undefined
    }, PROBE_MS).unref()
  }

  private respond(result: IntakeResult, { request, response, addressed, begunMs }: Begun): void {
    if (result === 'kept') {
      this.options.metrics.keep((performance.now() - begunMs) / 1_000)
      answer(response, 200)
    } else this.refuse(request, response, { reason: result, addressed })
  }

  private refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { reason, allow, addressed = null }: { reason: Refusal; allow?: string; addressed?: string | null },
  ): void {
    this.count(reason, addressed)
    if (allow) response.setHeader('Allow', allow)
    if (reason === 'disk-refuses' || reason === 'too-busy') response.setHeader('Retry-After', '1')
    const status = REFUSALS[reason]
    if (request.complete) answer(response, status)
    else answerEarly(request, response, status)
  }
}

/**
 * Answers while the sender is still sending: reads and discards the rest for a moment, then closes the connection. The head is sent at once,
 * but the response is ended last: ending it closes the connection, and a sender that writes to a closed connection never reads the answer.
 */
function answerEarly(request: IncomingMessage, response: ServerResponse, status: number): void {
  response.shouldKeepAlive = false
  response.writeHead(status, { Connection: 'close', 'Content-Length': 0 })
  response.flushHeaders()
  const end = () => response.end()
  const timer = setTimeout(end, LINGER_MS)
  request.once('end', end).resume()
  request.socket.once('close', () => clearTimeout(timer))
}

interface Content {
  type: string
  body: string
}

const EMPTY = { 'Content-Length': 0 }

function answer(response: ServerResponse, status: number, content?: Content): void {
  const head = content ? { 'Content-Length': Buffer.byteLength(content.body), 'Content-Type': content.type } : EMPTY
  response.writeHead(status, head).end(content?.body)
}

function createHttpServer(service: Service, options: ReceiverOptions): Server {
  const { headMs = 10_000, requestMs = 30_000 } = options
  const server = createServer({
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, headMs),
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
    noDelay: true,
  })
  const serve = (request: IncomingMessage, response: ServerResponse, proceed?: () => void) => {
    try {
      service.serve(request, response, proceed)
    } catch {
      response.destroy()
    }
  }
  server.on('connection', socket => service.connect(socket))
  server.on('request', (request, response) => serve(request, response))
  server.on('checkContinue', (request, response) => serve(request, response, () => response.writeContinue()))
  return server
}

const TEXTS = {
  taken: 'webhooks cannot be received',
  takenHint:
    '`ss -ltnp` shows which one: stop it (it may be another `convohouse up` or `receive`), or give `webhooks` another `port`.',
  refused: 'The receiver cannot listen on',
  refusedHint: 'Give a port that this user may open, and a host of this machine.',
}

/** Starts the receiver. @throws ADDRESS_IN_USE; CONFIG_INVALID if it cannot listen at the address */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { intake } = options
  const service = new Service(options)
  const server = createHttpServer(service, options)
  const at = await listenAt(server, options, TEXTS)
  return {
    url: urlOf(at),
    port: at.port,
    async close() {
      service.isClosing = true
      // Connections become idle one by one, as their answers are sent.
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      await new Promise<void>(resolve => server.close(() => resolve()))
      clearInterval(idle)
      await intake.close()
    },
    abort: () => server.closeAllConnections(),
  }
}
