// A sender of webhooks that counts what it sent and what was acknowledged.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Sender {
  /** The numbers that identify the events: those that were sent, and those that were answered with 200 (`acknowledged`). */
  sent: Set<number>
  acknowledged: Set<number>
  /** Sends events one after another on several connections until it is stopped; connection errors are expected after kills. */
  run(port: number): { stop(): Promise<void> }
}

export interface SenderOptions {
  secret: string
  connections: number
  /** Approximate bytes of each event. */
  bytes: number
  /**
   * Milliseconds between an answer and the next event on a connection; by default, events are sent as fast as the
   * receiver accepts them.
   */
  pauseMs?: number
}

/** Returns the status of an answer; null if there was none. */
function post(port: number, body: string, agent: Agent): Promise<number | null> {
  return new Promise(resolve => {
    const outgoing = request({ host: '127.0.0.1', port, path: '/webhooks', method: 'POST', agent }, response => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? null)).once('error', () => resolve(null))
    })
    outgoing.once('error', () => resolve(null))
    outgoing.end(body)
  })
}

export function makeSender({ secret, connections, bytes, pauseMs = 0 }: SenderOptions): Sender {
  const sent = new Set<number>()
  const acknowledged = new Set<number>()
  const text = 'x'.repeat(bytes)

  async function keepSending(port: number, agent: Agent, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const number = sent.size
      sent.add(number)
      const body = { event: 'message_received', createdAt: number, workspaceSecret: secret, messageContent: text }
      const status = await post(port, JSON.stringify(body), agent)
      if (status === 200) acknowledged.add(number)
      // Without a 200 the receiver is down or its disk is full, so the next event waits for at least 5 ms.
      const waitMs = status === 200 ? pauseMs : Math.max(5, pauseMs)
      if (waitMs > 0) await sleep(waitMs)
    }
  }

  return {
    sent,
    acknowledged,
    run(port) {
      const agent = new Agent({ keepAlive: true, maxSockets: connections })
      let isOver = false
      const senders = Array.from({ length: connections }, () => keepSending(port, agent, () => isOver))
      return {
        async stop() {
          isOver = true
          agent.destroy()
          await Promise.all(senders)
        },
      }
    },
  }
}
