// Serves metrics where no receiver does: `GET /metrics`, and nothing else.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ListenAddress, urlOf } from '../config/address.ts'
import { ConvohouseError } from '../core/errors.ts'
import { SECOND } from '../core/time.ts'
import type { MetricsPage } from './page.ts'

export interface MetricsListener {
  /** `http://127.0.0.1:9464/metrics`. */
  url: string
  close(): Promise<void>
}

/** Those who collect metrics, and somebody who looks. */
const MOST_CONNECTIONS = 16

function serverOf(page: MetricsPage): Server {
  const server = createServer({ requestTimeout: 10 * SECOND, headersTimeout: 5 * SECOND }, (request, response) => {
    const path = request.url!.split('?')[0]
    if (path !== '/metrics') return void response.writeHead(404).end('Metrics are at /metrics.\n')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return void response.writeHead(405, { Allow: 'GET, HEAD' }).end()
    page
      .text()
      .then(body => {
        response.writeHead(200, { 'Content-Type': page.contentType, 'Content-Length': Buffer.byteLength(body) })
        response.end(request.method === 'HEAD' ? undefined : body)
      })
      .catch(() => response.destroy())
  })
  server.maxConnections = MOST_CONNECTIONS
  return server
}

/** Listens until it is closed. @throws ADDRESS_IN_USE; CONFIG_INVALID where this machine has no such address */
export async function listenForScrapes(page: MetricsPage, address: ListenAddress): Promise<MetricsListener> {
  const server = serverOf(page)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(cannotListen(address, cause)))
    server.listen(address.port, address.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `${urlOf({ ...address, port })}/metrics`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function cannotListen({ host, port }: ListenAddress, cause: NodeJS.ErrnoException): ConvohouseError {
  const facts = { host, port }
  if (cause.code === 'EADDRINUSE')
    return new ConvohouseError('ADDRESS_IN_USE', {
      what: `Another program listens on ${host}:${port} already: metrics cannot be served there.`,
      mend: '`ss -ltnp` shows which one. Give this process another address (`--metrics 127.0.0.1:9465`); port 0 takes a free one.',
      cause,
      facts,
    })
  return new ConvohouseError('CONFIG_INVALID', {
    what: `Metrics cannot be served at ${host}:${port}: ${cause.code}.`,
    mend: 'Give a host of this machine and a port that this user may open (`--metrics 127.0.0.1:9464`).',
    cause,
    facts,
  })
}
