// Connections to the vendor, directly or through a proxy, without interim answers.

import type { Duplex } from 'node:stream'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { HttpProxy } from '../../core/proxy.ts'

export interface ConnectionOptions {
  origin: string
  proxy: HttpProxy | null
  /** Timeout for connecting. */
  timeoutMs: number
  connections: number
}

/** A failure to connect: nothing was sent. It has no `code`, since at some of its own codes undici connects again without end. */
export class ConnectError extends Error {
  readonly reason: string
  /** True if the proxy failed, and not the host behind it. */
  readonly isOfProxy: boolean

  constructor(reason: string, isOfProxy: boolean) {
    super(reason)
    this.reason = reason
    this.isOfProxy = isOfProxy
  }
}

/** Returns the code of an error, such as ECONNRESET. */
export const reasonOf = (error: Error & { code?: unknown }): string =>
  error instanceof ConnectError ? error.reason : String(error.code ?? error.name)

/** Vendors and proxies send long cookies and policies. undici accepts 16 KB by default. */
export const MAX_HEADER_BYTES = 1024 * 1024

/** True if the proxy itself gets the requests, and not a tunnel to the vendor: many proxies tunnel only to port 443. */
export const isForwarded = ({ origin, proxy }: Pick<ConnectionOptions, 'origin' | 'proxy'>): boolean =>
  proxy !== null && origin.startsWith('http:')

export interface Connections {
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void
  destroy(): Promise<void>
}

export function openConnections(options: ConnectionOptions): Connections {
  const { origin, proxy, timeoutMs, connections } = options
  const connector = buildConnector({ timeout: timeoutMs })
  const pool = (to: string, connect = connector, isOfProxy = false) =>
    new Pool(to, {
      ...{ connections, pipelining: 1, maxHeaderSize: MAX_HEADER_BYTES, connect: checked(connect, isOfProxy) },
      // Disabled, because undici's timeouts are coarse and only measure silence; the transport's timer replaces them.
      ...{ headersTimeout: 0, bodyTimeout: 0 },
    })
  if (proxy === null) return pool(origin)
  const toProxy = pool(proxy.origin, connector, true)
  const basic = proxy.credentials && Buffer.from(proxy.credentials).toString('base64')
  const credentials = basic === null ? {} : { 'proxy-authorization': `Basic ${basic}` }
  const { host } = new URL(origin)
  if (isForwarded(options))
    return {
      dispatch(request, handler) {
        const headers = { ...(request.headers as Record<string, string>), host, ...credentials }
        toProxy.dispatch({ ...request, path: `${origin}${request.path}`, headers }, handler)
      },
      destroy: () => toProxy.destroy(),
    }
  // undici's ProxyAgent does the same, but hides the proxy's status.
  const tunnels = pool(origin, (to, callback) => {
    const path = to.port ? host : `${host}:443`
    const headers = { host: path, ...credentials }
    toProxy.connect({ path, headers, signal: AbortSignal.timeout(timeoutMs) }).then(
      ({ statusCode, socket }) => {
        if (statusCode >= 200 && statusCode <= 299) return connector({ ...to, httpSocket: socket as never }, callback)
        socket.on('error', () => {}).destroy()
        callback(new ConnectError(`PROXY_${statusCode}`, true), null)
      },
      error => callback(new ConnectError(reasonOf(error), true), null),
    )
  })
  return {
    dispatch: (request, handler) => tunnels.dispatch(request, handler),
    destroy: async () => void (await Promise.all([tunnels.destroy(), toProxy.destroy()])),
  }
}

function checked(connect: buildConnector.connector, isOfProxy: boolean): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (socket) callback(null, withoutInterim(socket))
      else callback(error instanceof ConnectError ? error : new ConnectError(reasonOf(error!), isOfProxy), null)
    })
}

/** Matches whole interim answers: any but 101, which ends HTTP on the connection. */
const WHOLE = /^(?:HTTP\/1\.[01] 1(?!01)\d\d(?=[ \r])[\s\S]*?\r\n\r\n)+/
const BEGUN = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const BEGINNING_BYTES = 'HTTP/1.1 100 '.length
/** A longer one is left to undici, which refuses it. */
const LONGEST_BYTES = 64 * 1024

const mayBeInterim = (text: string): boolean =>
  text.length < BEGINNING_BYTES ? 'HTTP/1.'.startsWith(text.slice(0, 7)) : BEGUN.test(text)

/**
 * Changes a connection so that whoever reads it gets no interim answers (1xx). A server may send any number of them (RFC 9110, 15.2), but
 * undici closes the connection at a 100 that it has not asked for, although the request may have been billed.
 */
function withoutInterim<S extends Duplex>(socket: S): S {
  /** The bytes since the last request, as Latin-1; null once the final answer has begun. */
  let begun: string | null = ''
  const { read, write } = socket
  socket.write = ((...given: Parameters<typeof write>) => {
    begun = ''
    return write.apply(socket, given)
  }) as typeof write
  socket.read = size => {
    for (;;) {
      const chunk: Buffer | null = read.call(socket, size)
      if (chunk === null || begun === null) return chunk
      const answer: string = (begun + chunk.toString('latin1')).replace(WHOLE, '')
      begun = mayBeInterim(answer) && answer.length <= LONGEST_BYTES ? answer : null
      if (begun === null) return Buffer.from(answer, 'latin1')
    }
  }
  return socket
}
