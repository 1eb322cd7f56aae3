// Sends one request and collects the response. Never retries, never follows a redirect (which would receive the token),
// and requests no compression, so that a page lands unchanged.

import { DecoratorHandler, type Dispatcher, Pool } from 'undici'
import type { Target } from '../address.ts'
import { type Exchange, readRetryAfter, readServerDate } from '../exchange.ts'

/** Reason why a response is missing or incomplete. */
export interface Breakdown {
  cause: Stop | 'network' | 'too-large' | 'encoded' | 'closed'
  /** Error code, such as ECONNRESET. Never a message: a library's text may quote the request. */
  reason: string
  /** True if nothing was sent, because the connection failed (refused, unknown host, TLS) or timed out. */
  unsent?: boolean
}

export type Sent = { sentAtMs: number; receivedAtMs: number } & (
  | { exchange: Exchange; breakdown: Breakdown | null }
  | { exchange: null; breakdown: Breakdown }
)

interface TransportOptions {
  origin: string
  /** Timeout for the headers (including connecting), and again for the body. */
  timeoutMs: number
  connections: number
  /** A larger body is abandoned, which limits memory. No page is nearly as large. */
  maxBodyBytes: number
  now: () => number
}

export interface Transport {
  send(target: Target, options: { accept: string; token: string; signal?: AbortSignal | undefined }): Promise<Sent>
  close(): Promise<void>
}

export function createTransport(options: TransportOptions): Transport {
  const pool = new Pool(options.origin, {
    connections: options.connections,
    pipelining: 1,
    // Disabled, because undici's timeouts are coarse and only measure silence; the phase timer replaces them.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.timeoutMs },
  }).compose(trackSent)
  let closed: Promise<void> | undefined
  const fixedHeaders = { 'accept-encoding': 'identity', 'user-agent': 'convohouse' }
  return {
    async send(target, { accept, token, signal }) {
      const phases = startPhases(options.timeoutMs, signal)
      try {
        const { method, sent: path, body = null } = target
        const authorization = `Bearer ${token}`
        const type = body !== null && { 'content-type': 'application/json' }
        const headers = { authorization, ...fixedHeaders, accept, ...type }
        const request = { method, path, body, headers, signal: phases.signal }
        return await exchangeOnce({ pool, request, phases, options })
      } finally {
        phases.release()
      }
    },
    close() {
      // undici rejects a second close().
      closed ??= pool.close()
      return closed
    },
  }
}

/** `sent`: the request was given an established connection, so it may have reached the vendor. */
interface Note {
  sent: boolean
}

/** undici's types omit the methods that DecoratorHandler forwards. */
const PassThroughHandler = DecoratorHandler as unknown as new (
  handler: Dispatcher.DispatchHandler,
) => { onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void }

class SentTracker extends PassThroughHandler {
  private readonly note: Note

  constructor(handler: Dispatcher.DispatchHandler, note: Note) {
    super(handler)
    this.note = note
  }

  override onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    super.onRequestStart(controller, context)
    if (!controller.aborted) this.note.sent = true
  }
}

const trackSent: Dispatcher.DispatcherComposeInterceptor = dispatch => (options, handler) =>
  dispatch(options, new SentTracker(handler, (options as unknown as { opaque: Note }).opaque))

interface Attempt {
  pool: Dispatcher
  request: Dispatcher.RequestOptions
  phases: PhaseTimer
  options: TransportOptions
}

async function exchangeOnce({ pool, request, phases, options }: Attempt): Promise<Sent> {
  const sentAtMs = options.now()
  const note: Note = { sent: false }
  let answer: Dispatcher.ResponseData<unknown>
  try {
    answer = await pool.request({ ...request, opaque: note })
  } catch (error) {
    const breakdown = { ...explain(error, phases), unsent: !note.sent }
    return { sentAtMs, receivedAtMs: options.now(), exchange: null, breakdown }
  }
  phases.next()
  const { body, breakdown } = await collect(answer, phases, options.maxBodyBytes)
  const receivedAtMs = options.now()
  const header = (name: string) => [answer.headers[name]].flat()[0]
  const serverDateMs = readServerDate(header('date'))
  const exchange: Exchange = {
    status: answer.statusCode,
    body,
    contentType: header('content-type') ?? null,
    contentEncoding: header('content-encoding') ?? null,
    serverDateMs,
    retryAfterMs: readRetryAfter(header('retry-after'), serverDateMs ?? receivedAtMs),
    sentAtMs,
    receivedAtMs,
  }
  return { sentAtMs, receivedAtMs, exchange, breakdown: breakdown ?? encodingOf(exchange.contentEncoding) }
}

async function collect(answer: Dispatcher.ResponseData<unknown>, phases: PhaseTimer, maxBytes: number) {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) return { body: Buffer.concat(chunks), breakdown: tooLarge(maxBytes) }
    }
    return { body: Buffer.concat(chunks), breakdown: null }
  } catch (error) {
    return { body: Buffer.concat(chunks), breakdown: explain(error, phases) }
  }
}

const tooLarge = (maxBytes: number): Breakdown => ({ cause: 'too-large', reason: `more than ${maxBytes} bytes` })

function encodingOf(header: string | null): Breakdown | null {
  if (header === null || /^\s*(identity)?\s*$/i.test(header)) return null
  return { cause: 'encoded', reason: 'content-encoding' }
}

/** undici's codes for a client that was closed during the request. */
const CLOSED = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])

function explain(error: unknown, phases: PhaseTimer): Breakdown {
  if (phases.stopped) return { cause: phases.stopped, reason: phases.stopped }
  const { code, name } = error as { code?: unknown; name?: unknown }
  const reason = String(code ?? name)
  if (CLOSED.has(reason)) return { cause: 'closed', reason }
  return { cause: reason === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'network', reason }
}

type Stop = 'aborted' | 'timeout'

/**
 * A signal that aborts a request when its caller's signal fires, or when a phase (headers, then body) takes too long. The
 * timer measures the complete phase and not the silence between bytes, so that a trickling response is aborted, too.
 */
interface PhaseTimer {
  readonly signal: AbortSignal
  /** Reason why the signal fired; null until it has. */
  readonly stopped: Stop | null
  /** Starts the next phase with the full timeout. */
  next(): void
  /** Clears the timer and detaches from the caller's signal. */
  release(): void
}

/** Starts the first phase. */
function startPhases(phaseMs: number, caller?: AbortSignal): PhaseTimer {
  const controller = new AbortController()
  let stopped: Stop | null = null
  const stop = (why: Stop) => {
    stopped ??= why
    controller.abort()
  }
  const onAbort = () => stop('aborted')
  const startTimer = () => setTimeout(stop, phaseMs, 'timeout')
  let timer = startTimer()
  if (caller?.aborted) onAbort()
  else caller?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    get stopped() {
      return stopped
    },
    next() {
      clearTimeout(timer)
      timer = startTimer()
    },
    release() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onAbort)
    },
  }
}
