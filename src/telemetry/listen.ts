// Serves `GET /metrics` in processes without a receiver.
import { createServer, type Server } from 'node:http'
import { type ListenAddress, listenAt, urlOf } from '../config/address.ts'
import { SECOND } from '../core/time.ts'
import type { MetricsPage } from './page.ts'

export interface MetricsListener {
  /** `http://127.0.0.1:9464/metrics`. */
  url: string
  close(): Promise<void>
}

const TEXTS = {
  taken: 'metrics cannot be served',
  takenHint:
    '`ss -ltnp` shows which one. Give this process another address (`--telemetry 127.0.0.1:9465`); port 0 takes a free one.',
  refused: 'Metrics cannot be served at',
  refusedHint: 'Give a host of this machine and a port that this user may open (`--telemetry 127.0.0.1:9464`).',
}

/** Enough for a few scrapers and a person who looks at the page. */
const MAX_CONNECTIONS = 16

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
  server.maxConnections = MAX_CONNECTIONS
  return server
}

/** Listens until closed. @throws ADDRESS_IN_USE; CONFIG_INVALID if the machine does not have this address */
export async function listenForScrapes(page: MetricsPage, address: ListenAddress): Promise<MetricsListener> {
  const server = serverOf(page)
  const at = await listenAt(server, address, TEXTS)
  return {
    url: `${urlOf(at)}/metrics`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
