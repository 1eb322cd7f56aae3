// A raw TCP server: it sends the bytes of an answer exactly as a test gives them, which no HTTP library would.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Answers one request; `n` counts requests from 1. */
export type WireAnswer = (socket: Socket, n: number, head: string) => void

export interface WireServer {
  port: number
  /** Heads of the requests. */
  requests: string[]
  /** Open connections. */
  sockets: ReadonlySet<Socket>
}

/** Starts a server that calls `answer` for each request head; closed when the test ends. */
export async function startWireServer(answer: WireAnswer): Promise<WireServer> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    let text = ''
    socket.on('error', () => {})
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      requests.push(text.slice(0, end))
      text = text.slice(end + 4)
      answer(socket, requests.length, requests.at(-1)!)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, requests, sockets }
}
