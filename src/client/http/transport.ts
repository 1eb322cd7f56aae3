// Sends one request and collects the response. Never retries, never follows a redirect (which would receive the token),
// and requests no compression; a response that is compressed all the same is decoded.

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { decodeBody } from '../../files/content-encoding.ts'
import type { Target } from '../address.ts'
import { type Exchange, readRetryAfter, readServerDate } from '../exchange.ts'
import {
  ConnectError,
  type ConnectionOptions,
  type Connections,
  isForwarded,
  openConnections,
  reasonOf,
} from './connections.ts'

/** Reason why a response is missing or incomplete. */
export interface Breakdown {
  cause: Stop | 'network' | 'too-large' | 'encoded'
  /** Error code, such as ECONNRESET. Never a message: a library's text may quote the request. */
  reason: string
  /** True if nothing was sent, because the connection failed (refused, unknown host, TLS) or timed out. */
  unsent?: boolean
  /** True if the proxy failed, and not the host behind it. */
  isOfProxy?: boolean
}

export type Sent = { sentAtMs: number; receivedAtMs: number } & (
  | { exchange: Exchange; breakdown: Breakdown | null }
  | { exchange: null; breakdown: Breakdown }
)

/** Reason of a request that `allowed` prevented; nothing was sent. */
export const NOT_ALLOWED = 'not-allowed'

interface TransportOptions extends ConnectionOptions {
  /** Timeout from connecting to the last byte. */
  timeoutMs: number
  /** A larger body is abandoned, which limits memory. No page is nearly as large. */
  maxBodyBytes: number
  now: () => number
}

interface SendOptions {
  accept: string
  token: string
  signal?: AbortSignal | undefined
  /** Called right before the request is written; if it returns false, nothing is. */
  allowed: () => boolean
}

export interface Transport {
  send(target: Target, options: SendOptions): Promise<Sent>
  close(): Promise<void>
}

export function createTransport(options: TransportOptions): Transport {
  const connections = openConnections(options)
  const running = new Set<Promise<Sent>>()
  let closed: Promise<void> | undefined
  const fixedHeaders = { 'accept-encoding': 'identity', 'user-agent': 'convohouse' }
  return {
    async send(target, { accept, token, signal, allowed }) {
      const { method, sent: path, body = null } = target
      const authorization = `Bearer ${token}`
      const type = body !== null && { 'content-type': 'application/json' }
      const headers = { authorization, ...fixedHeaders, accept, ...type }
      const limit = startLimit(options.timeoutMs, signal)
      if (closed) limit.stop('closed')
      const request = { origin: options.origin, method, path, body, headers }
      const sending = exchangeOnce({ connections, request, signal: limit.signal, allowed, options })
      running.add(sending)
      try {
        return await sending
      } finally {
        limit.release()
        running.delete(sending)
      }
    },
    close() {
      closed ??= Promise.allSettled(running).then(() => connections.destroy())
      return closed
    },
  }
}

interface Attempt {
  connections: Connections
  request: Dispatcher.DispatchOptions
  /** Aborted with a `Stop` as its reason. */
  signal: AbortSignal
  allowed: () => boolean
  options: TransportOptions
}

async function exchangeOnce(attempt: Attempt): Promise<Sent> {
  const { options } = attempt
  const sentAtMs = options.now()
  let received = await receive(attempt)
  // All pooled connections may be stale, but a host that closes every new one is not answering.
  for (let left = options.connections; received.isStale && left > 0; left--) received = await receive(attempt)
  const receivedAtMs = options.now()
  const { status, headers, breakdown } = received
  if (status === null) return { sentAtMs, receivedAtMs, exchange: null, breakdown: breakdown! }
  if (status === 407 && isForwarded(options))
    return { sentAtMs, receivedAtMs, exchange: null, breakdown: REFUSED_BY_PROXY }
  const header = (name: string) => [headers[name]].flat()[0]
  const serverDateMs = readServerDate(header('date'))
  const codings = [headers['content-encoding']].flat().join()
  const { body, encoding, isTooLarge } = await decodeBody(received.body, codings, options.maxBodyBytes)
  const exchange: Exchange = {
    status,
    body,
    contentType: header('content-type') ?? null,
    contentEncoding: encoding,
    serverDateMs,
    retryAfterMs: readRetryAfter(header('retry-after'), serverDateMs ?? receivedAtMs),
    sentAtMs,
    receivedAtMs,
  }
  const undecoded = isTooLarge ? tooLarge(options) : encoding === null ? null : ENCODED
  return { sentAtMs, receivedAtMs, exchange, breakdown: breakdown ?? undecoded }
}

const REFUSED_BY_PROXY: Breakdown = { cause: 'network', reason: 'PROXY_407', unsent: true, isOfProxy: true }
const ENCODED: Breakdown = { cause: 'encoded', reason: 'content-encoding' }
const tooLarge = ({ maxBodyBytes }: TransportOptions): Breakdown => ({
  cause: 'too-large',
  reason: `more than ${maxBodyBytes} bytes`,
})

interface Received {
  /** Null if no status arrived. */
  status: number | null
  headers: IncomingHttpHeaders
  body: Buffer
  breakdown: Breakdown | null
  /** True if an idle connection turned out to be closed before the request was written to it: it can be sent again. */
  isStale: boolean
}

function receive({ connections, request, signal, allowed, options }: Attempt): Promise<Received> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    let [status, headers]: [Received['status'], IncomingHttpHeaders] = [null, {}]
    /** Set when the request is given an established connection: from then on, it may have reached the vendor. */
    let sending: Dispatcher.DispatchController | undefined
    const end = (failure: Breakdown | null, isStale = false) => {
      signal.removeEventListener('abort', onStop)
      const breakdown = failure && { ...failure, unsent: sending === undefined }
      resolve({ status, headers, body: Buffer.concat(chunks), breakdown, isStale })
      if (failure) sending?.abort(new Error(failure.reason))
    }
    const onStop = () => end({ cause: signal.reason, reason: signal.reason })
    if (signal.aborted) return onStop()
    signal.addEventListener('abort', onStop)
    connections.dispatch(request, {
      onRequestStart(controller) {
        if (!signal.aborted && allowed()) {
          sending = controller
          return
        }
        end({ cause: 'aborted', reason: NOT_ALLOWED })
        controller.abort(new Error('stopped'))
      },
      onResponseStart: (_, ...answer) => {
        ;[status, headers] = answer
      },
      onResponseData(_, chunk) {
        chunks.push(chunk)
        size += chunk.length
        if (size > options.maxBodyBytes) end(tooLarge(options))
      },
      onResponseEnd: () => end(null),
      onResponseError(_, error) {
        const isIdle = sending === undefined && !(error instanceof ConnectError)
        const failure = explain(error)
        end(failure, isIdle && CLOSED.has(failure.reason))
      },
    })
  })
}

/** Codes of a connection that the other side has closed. */
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET'])
const TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'TimeoutError'])

function explain(error: Error): Breakdown {
  const reason = reasonOf(error)
  const isOfProxy = error instanceof ConnectError && error.isOfProxy
  return { cause: TIMEOUTS.has(reason) ? 'timeout' : 'network', reason, ...(isOfProxy && { isOfProxy }) }
}

type Stop = 'aborted' | 'timeout' | 'closed'

/**
 * Limits a request to a time and to its caller's signal. The timer covers everything from connecting to the last byte, and
 * not the silence between bytes, so that a trickling response is stopped, too.
 */
function startLimit(ms: number, caller?: AbortSignal) {
  const controller = new AbortController()
  const stop = (why: Stop) => controller.abort(why)
  const onAbort = () => stop('aborted')
  const timer = setTimeout(stop, ms, 'timeout')
  if (caller?.aborted) onAbort()
  else caller?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    stop,
    /** Clears the timer and detaches from the caller's signal. */
    release() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onAbort)
    },
  }
}
