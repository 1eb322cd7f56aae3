// A proxy between convohouse and the sandbox that changes answers and counts concurrent requests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { isProbeQuery } from './probe.ts'

export interface Passing {
  agentId: string
  query: URLSearchParams
  /** Export requests so far, including this one; probes only with `probesToo`. */
  number: number
}

/** Chooses what to do with an export request; undefined forwards it unchanged. */
export type Meddling =
  | { answer: { status: number; body: string; contentType?: string } }
  /** Forwards the request and changes the parsed body of the answer, and its status. */
  | { change: (body: Record<string, unknown>) => unknown; status?: (body: Record<string, unknown>) => number }
  /** Forwards the request and drops the connection in the middle of the body. */
  | { cut: true }

export interface MeddlingProxy {
  url: string
  /** The highest numbers of concurrent export requests so far: in total, and for one time range of one agent. */
  most: { atOnce: number; ofOneWindow: number }
}

const windowOf = (path: string, query: URLSearchParams) => `${path} ${query.get('fromTs')} ${query.get('toTs')}`

/** Starts the proxy; it is closed when the test ends. */
export async function meddlingProxy(
  upstream: string,
  meddle: (passing: Passing) => Meddling | undefined = () => undefined,
  {
    dropRetryAfter = false,
    searchIsDown = () => false,
    probesToo = false,
  }: { dropRetryAfter?: boolean; searchIsDown?: () => boolean; probesToo?: boolean } = {},
): Promise<MeddlingProxy> {
  const inFlight: string[] = []
  const most = { atOnce: 0, ofOneWindow: 0 }
  let number = 0

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', upstream)
    const isProbe = isProbeQuery(url.searchParams.get('fromTs'), url.searchParams.get('toTs'))
    const isExport = url.pathname.endsWith('/convos/export') && (probesToo || !isProbe)
    const agentId = decodeURIComponent(url.pathname.split('/')[3] ?? '')
    if (isExport) number += 1
    if (url.pathname.endsWith('/agents/search') && searchIsDown()) {
      response.writeHead(503).end()
      return
    }
    const meddling = isExport ? meddle({ agentId, query: url.searchParams, number }) : undefined
    if (meddling && 'answer' in meddling) {
      const { status, body, contentType = 'application/json' } = meddling.answer
      response.writeHead(status, { 'content-type': contentType }).end(body)
      return
    }
    const answer = await fetch(url, { headers: { authorization: request.headers.authorization ?? '' } })
    let body = Buffer.from(await answer.arrayBuffer())
    let { status } = answer
    if (meddling && 'change' in meddling) {
      const parsed = JSON.parse(body.toString()) as Record<string, unknown>
      status = meddling.status?.(parsed) ?? status
      body = Buffer.from(JSON.stringify(meddling.change(parsed)))
    }
    const headers = { 'content-type': 'application/json', date: answer.headers.get('date') ?? '' }
    const retryAfter = dropRetryAfter ? null : answer.headers.get('retry-after')
    response.writeHead(status, {
      ...headers,
      'content-length': body.length,
      ...(retryAfter && { 'retry-after': retryAfter }),
    })
    if (meddling && 'cut' in meddling) response.write(body.subarray(0, body.length / 2), () => response.destroy())
    else response.end(body)
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const url = new URL(request.url ?? '/', upstream)
    const key = windowOf(url.pathname, url.searchParams)
    inFlight.push(key)
    most.atOnce = Math.max(most.atOnce, inFlight.length)
    most.ofOneWindow = Math.max(most.ofOneWindow, inFlight.filter(other => other === key).length)
    serve(request, response)
      .catch(() => response.destroy())
      .finally(() => inFlight.splice(inFlight.indexOf(key), 1))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, most }
}
