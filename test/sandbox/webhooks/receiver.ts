// A receiver of events that stores them and answers with a configurable status.
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  event: string
  createdAt: number
  workspaceSecret: string
  agentId?: string
  convoId?: string
  [field: string]: unknown
}

export interface Receiver {
  url: string
  received: Received[]
  /** Status of every later answer; undefined: no answer. */
  status: number | undefined
  /** The highest number of concurrent requests so far. */
  most: number
  requests: { method: string | undefined; contentType: string | undefined; bytes: number }[]
}

/** Opens a receiver, which is closed when the test ends. */
export async function openReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], status: 200, most: 0, requests: [] }
  let inFlight = 0
  const server = createServer(async (request, response) => {
    receiver.most = Math.max(receiver.most, ++inFlight)
    const body = await textOf(request).finally(() => inFlight--)
    const { method, headers } = request
    receiver.requests.push({ method, contentType: headers['content-type'], bytes: Buffer.byteLength(body) })
    receiver.received.push(JSON.parse(body) as Received)
    if (receiver.status !== undefined) response.writeHead(receiver.status).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  return receiver
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
