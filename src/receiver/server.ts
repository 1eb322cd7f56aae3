// The receiver: webhooks in over HTTP, and nothing done with them before the answer but to verify and to append.
//
//   request ──▶ limits ──▶ body ──▶ intake (verify, append, sync) ──▶ 200, empty
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConvohouseError } from '../core/errors.ts'
import type { Intake } from './intake.ts'
import type { Metrics } from './metrics.ts'
import { REFUSALS, type Refusal } from './refusals.ts'
import { BodyMemory, type ReadBody, readBody, refusedByHead } from './request-body.ts'
import { routeOf } from './route.ts'

export interface ReceiverOptions {
  host: string
  port: number
  maxBodyBytes: number
  maxConnections: number
  intake: Intake
  metrics: Metrics
  /** How long a sender may take for the head of a request, and for the whole. */
  headMs?: number
  requestMs?: number
}

export interface Receiver {
  /** Without a slash at its end. */
  url: string
  port: number
  /** Takes no more, answers what is under way, and ends when all of it is durable and sealed. */
  close(): Promise<void>
  /** Lets go of senders who are still at it. */
  abort(): void
}

const BODIES_AT_ONCE_BYTES = 64 * 1024 * 1024
/** Whoever sends too much is read on for so long, or would not see the answer. */
const LINGER_MS = 2_000

class Service {
  private readonly options: ReceiverOptions
  private readonly memory: BodyMemory
  private isDiskRefusing = false
  isClosing = false

  constructor(options: ReceiverOptions) {
    this.options = options
    const { maxBodyBytes } = options
    this.memory = new BodyMemory({
      maxBytes: maxBodyBytes,
      maxBytesAtOnce: Math.max(BODIES_AT_ONCE_BYTES, maxBodyBytes),
    })
  }

  async serve(request: IncomingMessage, response: ServerResponse, proceed?: () => void): Promise<void> {
    if (this.isClosing) response.shouldKeepAlive = false
    const route = routeOf(request.method!, request.url!)
    if (route.kind === 'webhook') return this.receive(request, { response, addressed: route.addressed, proceed })
    if (route.kind === 'refused') return this.refuse(request, response, route)
    if (route.kind === 'metrics') {
      const { metrics, intake } = this.options
      return answer(response, 200, { type: 'text/plain; version=0.0.4', body: metrics.text(intake.openSegments()) })
    }
    const isReady = route.kind === 'health' || !(this.isDiskRefusing || this.isClosing)
    answer(response, isReady ? 200 : 503, { type: 'text/plain', body: isReady ? 'ok\n' : 'not ready\n' })
  }

  private async receive(
    request: IncomingMessage,
    way: { response: ServerResponse; addressed: string | null; proceed: (() => void) | undefined },
  ): Promise<void> {
    const { intake, metrics } = this.options
    const begunMs = performance.now()
    metrics.begin()
    const refused = refusedByHead(request, this.memory.limits)
    if (!refused) way.proceed?.()
    const body: ReadBody = refused ? { refused } : await readBody(request, this.memory)
    if ('refused' in body) return this.refuse(request, way.response, { reason: body.refused })
    const verdict = await intake.take(body.chunks, way.addressed).finally(body.release)
    this.isDiskRefusing = verdict === 'disk-refuses'
    if (verdict !== 'kept') return this.refuse(request, way.response, { reason: verdict })
    metrics.keep((performance.now() - begunMs) / 1_000)
    answer(way.response, 200)
  }

  private refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { reason, allow }: { reason: Refusal; allow?: string },
  ): void {
    this.options.metrics.refuse(reason)
    if (allow) response.setHeader('Allow', allow)
    if (reason === 'disk-refuses' || reason === 'too-busy') response.setHeader('Retry-After', '1')
    const status = REFUSALS[reason]
    if (request.complete) answer(response, status)
    else answerEarly(request, response, status)
  }
}

/**
 * Answers while the sender still sends: what comes is read and dropped for a moment, then the connection is closed. The answer
 * is told at once and ended last, since its end closes the connection, and a sender who writes into a closed one never reads it.
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

function answer(response: ServerResponse, status: number, content?: { type: string; body: string }): void {
  const length = content ? Buffer.byteLength(content.body) : 0
  response.writeHead(status, { 'Content-Length': length, ...(content && { 'Content-Type': content.type }) })
  response.end(content?.body)
}

function createHttpServer(service: Service, options: ReceiverOptions): Server {
  const { maxConnections, headMs = 10_000, requestMs = 30_000 } = options
  const server = createServer({
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, headMs),
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
    noDelay: true,
  })
  server.maxConnections = maxConnections
  const serve = (request: IncomingMessage, response: ServerResponse, proceed?: () => void) => {
    // A sender who hangs up in the middle is told nothing.
    service.serve(request, response, proceed).catch(() => response.destroy())
  }
  server.on('request', (request, response) => serve(request, response))
  server.on('checkContinue', (request, response) => serve(request, response, () => response.writeContinue()))
  return server
}

/** @throws CONFIG_INVALID where it cannot listen there */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { host, intake } = options
  const service = new Service(options)
  const server = createHttpServer(service, options)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(cannotListen(options, cause)))
    server.listen(options.port, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    async close() {
      service.isClosing = true
      // A connection is idle again when its answer is out.
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      await new Promise<void>(resolve => server.close(() => resolve()))
      clearInterval(idle)
      await intake.close()
    },
    abort: () => server.closeAllConnections(),
  }
}

const cannotListen = ({ host, port }: ReceiverOptions, cause: Error): ConvohouseError =>
  new ConvohouseError('CONFIG_INVALID', {
    what: `The receiver cannot listen on ${host}:${port}: ${(cause as NodeJS.ErrnoException).code}.`,
    mend: 'Give a port that is free (0 takes any), and a host of this machine.',
    cause,
    facts: { host, port },
  })
