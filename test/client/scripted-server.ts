// A real HTTP server with scripted answers: each request gets the next answer; the last one repeats.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ScriptedAnswer = (response: ServerResponse) => void

export interface ScriptedServer {
  url: string
  requests: IncomingMessage[]
  /** Client ports of the requests, one for each connection. */
  ports: Set<number>
  /** Returns the highest number of concurrent requests so far. */
  mostAtOnce: () => number
  stop(): Promise<void>
}

export async function startScriptedServer(...script: ScriptedAnswer[]): Promise<ScriptedServer> {
  const requests: IncomingMessage[] = []
  const ports = new Set<number>()
  let open = 0
  let most = 0
  const server = createServer((request, response) => {
    ports.add(request.socket.remotePort!)
    most = Math.max(most, ++open)
    response.on('close', () => open--)
    const answer = script[Math.min(requests.length, script.length - 1)]!
    requests.push(request)
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    ports,
    mostAtOnce: () => most,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): ScriptedAnswer =>
  response =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

export const bytes =
  (body: string | Buffer, contentType: string, status = 200): ScriptedAnswer =>
  response =>
    response.writeHead(status, { 'content-type': contentType }).end(body)

export const silence: ScriptedAnswer = () => {}

export const hangUp: ScriptedAnswer = response => response.socket!.destroy()

/** Announces the full length, sends the first half of the body, then hangs up or stalls. */
export const beginning =
  (body: string, then: 'hang up' | 'stall', status = 200): ScriptedAnswer =>
  response => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.write(body.slice(0, body.length / 2), () => {
      if (then === 'hang up') setTimeout(() => response.socket?.destroy(), 20)
    })
  }

/** Sends a byte every few milliseconds, endlessly. */
export const trickle: ScriptedAnswer = response => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 10)
  response.on('close', () => clearInterval(timer))
}

export const later =
  (ms: number, answer: ScriptedAnswer): ScriptedAnswer =>
  response =>
    void setTimeout(() => answer(response), ms)

export const PAGE = {
  success: true,
  message: 'Exported 1 conversation',
  data: [{ ID: 'c1', userName: 'Zoë 🌍' }],
  usage: { periodKey: '2026-11', billableUsedThisRequest: 1, billableUsedThisPeriod: 12, includedQuota: 50_000 },
  rateLimit: { requestsPerHour: 1_500, remainingHour: 1_499 },
  hasMore: true,
  nextCursor: 'next+/=',
  limit: 20,
  mode: 'paginated',
  scannedConvoCount: 3,
  source: 'mirror',
}
