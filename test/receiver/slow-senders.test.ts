// Slow senders without a secret, on real sockets: even if they hold all memory, each real event is acknowledged.
import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Receiver } from '../../src/receiver/server.ts'
import { dial, headOf, SECRET, startTestReceiver, type TestReceiver } from './test-receiver.ts'

const MAX_BODY_BYTES = 8_000_000
/** A sixteenth of the 64 MiB that all bodies together may take, minus one byte. */
const BYTES_BELOW_LIMIT = 4 * 1024 * 1024 - 1

/** Sends these bytes on its own connection; resolves with the final answer. */
function slowSender(receiver: Receiver, text: string | Buffer): { socket: Socket; answer: Promise<string> } {
  const { socket, answer } = dial(receiver)
  socket.write(text)
  return { socket, answer }
}

const largeAndSlow = (receiver: Receiver) =>
  slowSender(receiver, Buffer.concat([Buffer.from(headOf(MAX_BODY_BYTES)), Buffer.alloc(BYTES_BELOW_LIMIT, 'x')]))

/** Makes each sender repeatedly send one byte of its body. */
function trickle(senders: readonly { socket: Socket }[]): void {
  const timer = setInterval(() => {
    for (const { socket } of senders) if (socket.writable) socket.write('x')
  }, 20)
  onTestFinished(() => clearInterval(timer))
}

/** Sends real events concurrently, each on a separate connection; returns their answers. */
async function realEvents({ receiver }: TestReceiver, many = 40): Promise<string[]> {
  const post = (n: number) => {
    const body = JSON.stringify({
      event: 'webhook_test',
      createdAt: n,
      workspaceSecret: SECRET,
      text: 'x'.repeat(8_000),
    })
    const { socket, answer } = dial(receiver)
    socket.write(`${headOf(Buffer.byteLength(body))}${body}`)
    return answer.then(text => text.split('\r\n')[0]!)
  }
  return Promise.all(Array.from({ length: many }, (_, n) => post(n)))
}

const acknowledged = (many = 40): string[] => Array.from({ length: many }, () => 'HTTP/1.1 200 OK')

const large = (first: object, last: object): string =>
  JSON.stringify({ ...first, event: 'webhook_test', text: 'x'.repeat(5_000_000), ...last })

describe('real events', () => {
  it('are acknowledged, small and large, beside senders that hold all memory', async () => {
    const running = await startTestReceiver({ maxBodyBytes: MAX_BODY_BYTES, maxConnections: 1_000 })
    const slow = Array.from({ length: 20 }, () => largeAndSlow(running.receiver))
    trickle(slow)
    // The senders hold all memory: the receiver has already dropped some of them to free a part of it.
    expect(await Promise.any(slow.map(({ answer }) => answer))).toMatch(/^HTTP\/1.1 408 /)
    expect(await realEvents(running)).toEqual(acknowledged())
    expect((await running.post(large({}, { workspaceSecret: SECRET }))).status).toBe(200)
    expect(await running.metric('convohouse_webhooks_refused_total{reason="too-busy"}')).toBe(0)
    for (const { socket } of slow) socket.destroy()
    expect((await running.sealed()).length).toBe(41)
  })

  it('are acknowledged beside slow heads and bodies on every allowed connection', async () => {
    const running = await startTestReceiver({ maxConnections: 50 })
    const heads = Array.from({ length: 40 }, () => slowSender(running.receiver, 'POST /webhooks HTTP/1.1\r\nX-Slow: '))
    const bodies = Array.from({ length: 40 }, () => slowSender(running.receiver, `${headOf(60_000)}{`))
    const idle = Array.from({ length: 40 }, () => slowSender(running.receiver, ''))
    trickle([...heads, ...bodies])
    const slow = [...heads, ...bodies, ...idle]
    await Promise.any(slow.map(({ answer }) => answer))
    expect(await realEvents(running)).toEqual(acknowledged())
    for (const { socket } of slow) socket.destroy()
    expect((await running.sealed()).length).toBe(40)
  })
})

describe('a connection beyond the limit', () => {
  it('replaces the one that has been idle longest, not one that has delivered', async () => {
    const { receiver, metric } = await startTestReceiver({ maxConnections: 3 })
    const body = JSON.stringify({ event: 'webhook_test', workspaceSecret: SECRET })
    const delivering = dial(receiver)
    delivering.socket.write(`${headOf(body.length)}${body}`)
    await delivering.answer
    const idle = dial(receiver)
    await new Promise(resolve => idle.socket.once('connect', resolve))
    const another = dial(receiver)
    another.socket.write(`${headOf(body.length)}${body}`)
    expect(await another.answer).toMatch(/^HTTP\/1.1 200 /)
    // Only the slow fourth connection was dropped.
    expect(await metric('convohouse_webhooks_refused_total{reason="too-slow"}')).toBe(1)
    await idle.closed
    expect([delivering.socket.destroyed, another.socket.destroyed]).toEqual([false, false])
  })
})
